import { type HandlerAddress, handlerName } from '../../core/handler/naming.ts';
import { closest } from '../../core/text.ts';
import { afterChange } from '../backend/after-change.ts';
import type { Backend } from '../backend/backend.ts';
import { warn } from '../screen/terminal.ts';

/** The most handlers that a warning names. */
const MOST_NAMED = 5;

/**
 * Returns a question with the arguments for the registered handlers of the same job type, or else for the one with a
 * similar name; empty without one.
 */
export async function findSimilar(backend: Backend, address: HandlerAddress): Promise<string> {
  const handlers = await backend.listHandlers();
  const near = closest(handlerName(address), handlers.map(handlerName));
  const keyed = address.routingKey === '' ? handlers.filter(({ jobType }) => jobType === address.jobType) : [];
  const similar = keyed.length > 0 ? keyed.slice(0, MOST_NAMED) : handlers.filter((one) => handlerName(one) === near);
  return similar.length === 0 ? '' : `; did you mean ${similar.map(argumentsFor).join(' or ')}?`;
}

function argumentsFor({ jobType, routingKey }: HandlerAddress): string {
  return routingKey === '' ? jobType : `${jobType} --routing-key ${routingKey}`;
}

/**
 * Returns what explains that no job matches these job types: those without a handler, which may be misspelt. Empty if
 * all have one, or if the caller may not see the handlers.
 */
export async function explainNoMatch(backend: Backend, jobTypes: readonly string[] = []): Promise<string> {
  const handlers = jobTypes.length === 0 ? undefined : await afterChange(backend.listHandlers());
  if (handlers === undefined) return '';
  const known = handlers.map(({ jobType }) => jobType);
  return jobTypes
    .filter((jobType) => !known.includes(jobType))
    .map((jobType) => {
      const near = closest(jobType, known);
      return `; no handler of the job type ${jobType} is registered${near === undefined ? '' : `: did you mean ${near}?`}`;
    })
    .join('');
}

/** Warns if no handler for the jobs of a schedule is registered, unless the caller may not see the handlers. */
export async function warnOfUnhandled(backend: Backend, address: HandlerAddress): Promise<void> {
  const handlers = await afterChange(backend.listHandlers());
  if (handlers === undefined || handlers.some((one) => handlerName(one) === handlerName(address))) return;
  const similar = (await afterChange(findSimilar(backend, address))) ?? '';
  warn(`no handler for ${handlerName(address)} is registered; its jobs will wait${similar}`);
}
