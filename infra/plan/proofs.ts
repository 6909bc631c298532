import { functionName } from '../../core/handler/naming.ts';
import { type Capacity, concurrencyFault, DISPATCHER_CONCURRENCY, reserves, widest } from './capacity.ts';
import type { HandlerPlan } from './handler-plan.ts';
import { RULES } from './handler-rules.ts';

/** What a deployment is about to create. */
export interface DeploymentPlan extends Capacity {
  readonly stage: string;
  readonly handlers: readonly HandlerPlan[];
  /** Handlers to remove although they have unfinished jobs. */
  readonly drain: readonly string[];
  /** Most concurrent requests of the API; 0 without an API. */
  readonly apiConcurrency: number;
}

/** RDS reserves some, and an operator must be able to connect when all others are in use. */
const KEPT_CONNECTIONS = 10;
/** The mirror, the deploy steps, and two people at the command line. */
const OTHER_CONNECTIONS = 4;
/** Old and new function instances exist side by side during a deploy. */
const DEPLOY_FACTOR = 2;

/**
 * Checks that a deployment can work before anything is created.
 * @throws Error with one sentence per broken rule: the handler, both numbers and the fix.
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
    handlers.length === 0
      ? ['handlers: no handler file was found; write one, such as functions/handlers/send-reminder.ts']
      : [];
  const sentences = [...none, ...broken, ...refuseIdleDrain(plan), ...sharedNames(plan), ...limits(plan)];
  if (sentences.length > 0) throw new Error(sentences.join('\n'));
}

/** Refuses `drain` for a handler that stays: it would take effect later, when its file is removed. */
function refuseIdleDrain({ handlers, drain }: DeploymentPlan): string[] {
  return handlers
    .filter(({ name }) => drain.includes(name))
    .map(({ name }) => `drain: the handler ${name} still has a file; remove the file, or remove ${name} from drain`);
}

/** Names contain a dash in place of a dot, so two handlers can get the same name. */
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
        : [`${name}: the name ${taken} is already used by ${owner}; choose another jobType or routingKey`];
    }),
  );
}

function limits(plan: DeploymentPlan): string[] {
  return [...concurrencyFault(plan.handlers, plan, plan.apiConcurrency > 0), ...connections(plan)];
}

/** A batch whose thread is blocked opens a second connection (docs/decisions/0042). */
function connections({ handlers, apiConcurrency, ...capacity }: DeploymentPlan): string[] {
  const { maxConnections, accountConcurrency } = capacity;
  if (maxConnections === undefined) return [];
  const concurrency = handlers.reduce((sum, handler) => sum + handler.concurrency, 0);
  const reserved = reserves(capacity);
  // Without a reservation, the account's limit is that of the API and of the nudges.
  const api = Math.min(apiConcurrency, reserved.api ?? accountConcurrency);
  const dispatcher = DEPLOY_FACTOR * (reserved.dispatcher ?? Math.min(DISPATCHER_CONCURRENCY, accountConcurrency));
  const needed = (DEPLOY_FACTOR + 1) * concurrency + api + dispatcher + OTHER_CONNECTIONS;
  const most = maxConnections - KEPT_CONNECTIONS;
  if (needed <= most) return [];
  return [
    `maxConnections: up to ${needed} connections can be open at once (2 × ${concurrency} for handlers, ${concurrency} for batches whose thread is blocked, ${api} for the API, ${dispatcher} for the dispatcher and its nudges, the rest for other functions), and ${maxConnections} leaves ${most}; lower concurrency, first that of ${widest(handlers)}, or raise max_connections`,
  ];
}
