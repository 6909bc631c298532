import { functionName } from '../../core/handler/naming.ts';
import type { HandlerPlan } from './handler-plan.ts';
import { RULES } from './handler-rules.ts';

/** What is about to be deployed. */
export interface DeploymentPlan {
  readonly stage: string;
  readonly handlers: readonly HandlerPlan[];
  /** Handlers whose removal is meant. */
  readonly drain: readonly string[];
  /** How many requests the API works on at once; 0 without one. */
  readonly apiConcurrency: number;
  /** `max_connections` of the database; undefined when nobody said it. */
  readonly maxConnections: number | undefined;
}

/** AWS keeps some for itself, and a person has to get in when all is full. */
const KEPT_CONNECTIONS = 10;
/** A run takes over from the one before, and nudges come on top. */
const DISPATCHER_CONNECTIONS = 4;
/** The mirror, the steps of a deploy, and two people at the command line. */
const OTHER_CONNECTIONS = 4;
/** Old and new environments live side by side during a deploy. */
const DEPLOY_FACTOR = 2;

/**
 * Proves that a deployment can work, before there is one.
 * @throws an Error with a sentence for each rule that is broken: the handler, both numbers and the fix.
 */
export function prove(plan: DeploymentPlan): void {
  const { handlers } = plan;
  const broken = handlers.flatMap((handler) => {
    return RULES.flatMap((rule) => {
      const sentence = rule(handler);
      return sentence === undefined ? [] : [`${handler.name}: ${sentence}`];
    });
  });
  const none =
    handlers.length === 0 ? ['handlers: there is none; write one, such as functions/handlers/send-reminder.ts'] : [];
  const sentences = [...none, ...broken, ...kept(plan), ...sharedNames(plan), ...connections(plan)];
  if (sentences.length > 0) throw new Error(sentences.join('\n'));
}

/** Said of a handler that stays, it would let its jobs go when its file goes, long after it was meant. */
function kept({ handlers, drain }: DeploymentPlan): string[] {
  return handlers
    .filter(({ name }) => drain.includes(name))
    .map(({ name }) => `drain: ${name} is not removed, its file is there; remove the file or leave drain out`);
}

/** A dot of a name becomes a dash, so that two addresses can come to one name. */
function sharedNames({ stage, handlers }: DeploymentPlan): string[] {
  const owners = new Map<string, string>(
    (['dispatcher', 'dlq-mirror', 'api', 'migrate', 'registry'] as const).map((part) => [
      functionName(stage, part),
      part,
    ]),
  );
  return handlers.flatMap(({ name, queueName, deadLetterQueueName }) =>
    [queueName, deadLetterQueueName].flatMap((taken) => {
      const owner = owners.get(taken);
      owners.set(taken, name);
      return owner === undefined
        ? []
        : [`${name}: the name ${taken} is that of ${owner} already; choose another jobType or routingKey`];
    }),
  );
}

function connections({ handlers, apiConcurrency, maxConnections }: DeploymentPlan): string[] {
  if (maxConnections === undefined) return [];
  const concurrency = handlers.reduce((sum, handler) => sum + handler.concurrency, 0);
  const needed = DEPLOY_FACTOR * concurrency + DISPATCHER_CONNECTIONS + apiConcurrency + OTHER_CONNECTIONS;
  const most = maxConnections - KEPT_CONNECTIONS;
  if (needed <= most) return [];
  const widest = handlers.toSorted((one, other) => other.concurrency - one.concurrency)[0];
  return [
    `maxConnections: ${needed} connections may be open at once (twice the handlers' ${concurrency}, the API's ${apiConcurrency}, others) and ${maxConnections} leave ${most}; lower concurrency, first that of ${widest?.name ?? 'no handler'} (${widest?.concurrency ?? 0}), or raise max_connections`,
  ];
}
