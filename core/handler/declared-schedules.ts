import { PayloadInvalid } from '../errors.ts';
import type { HandlerDefinition } from './definition.ts';
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
