import { PayloadInvalid } from '../errors.ts';
import type { DefinitionData, HandlerDefinition } from './definition.ts';
import { parsePayload } from './payload.ts';
import { EXAMPLE_TICK, readSchedule, tickPayload } from './schedule.ts';

/** Returns why the schema would refuse the jobs of a schedule. */
export async function scheduleFault(definition: HandlerDefinition): Promise<string | undefined> {
  for (const [schedule, options] of Object.entries(definition.schedules ?? {})) {
    const { payload, tickKey } = readSchedule(schedule, definition, options);
    try {
      await parsePayload(tickPayload(payload, tickKey, EXAMPLE_TICK), definition.payload);
    } catch (error) {
      if (error instanceof PayloadInvalid) return `schedules.${schedule}.${error.message}`;
      throw error;
    }
  }
  return undefined;
}

/**
 * Adds the schedules of a handler to `owners`, or returns why it may not declare them: another handler declares one.
 * @param owner the name of the handler in messages.
 */
export function claimSchedules(
  owners: Map<string, string>,
  { schedules = {} }: DefinitionData,
  owner: string,
): string | undefined {
  const taken = Object.keys(schedules).find((schedule) => owners.has(schedule));
  if (taken !== undefined) return `declares the schedule ${taken}, as ${owners.get(taken)} does: give it another name`;
  for (const schedule of Object.keys(schedules)) owners.set(schedule, owner);
  return undefined;
}
