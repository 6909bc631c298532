import { checkHandler } from '../enqueue/enqueue-options.ts';
import { SettingError } from '../errors.ts';
import type { HandlerDefinition } from '../handler/handler.ts';
import { handlerName } from '../handler/naming.ts';
import type { Database } from '../postgres/database.ts';
import { registerHandlers } from '../registry/register-handlers.ts';

/** The stage to which the database belongs. */
const STAGE = 'testing';

/**
 * Registers these handlers with their schedules, and removes all others, as a deployment does. Their queues are those
 * of `drain`.
 */
export async function deploy(db: Database, handlers: readonly HandlerDefinition[]): Promise<void> {
  for (const [index, handler] of handlers.entries()) checkHandler(handler, `handlers[${index}].`);
  const names = handlers.map(handlerName);
  const repeated = names.find((name, index) => names.indexOf(name) < index);
  if (repeated !== undefined) throw new SettingError('handlers', `one definition of ${repeated}`, 'two');
  const registrations = handlers.map((definition) => {
    const queueUrl = queueOf(definition);
    return {
      definition,
      queueUrl,
      deadLetterQueueUrl: `${queueUrl}-dlq`,
      functionName: handlerName(definition),
    };
  });
  await registerHandlers({ db, stage: STAGE }, registrations);
}

/** Returns the address of a handler's queue. */
export function queueOf(handler: HandlerDefinition): string {
  return `memory://${handlerName(handler)}`;
}
