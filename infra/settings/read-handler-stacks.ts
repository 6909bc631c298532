import { whole } from '../../core/handler/whole.ts';
import { type Context, number, optional } from './context.ts';

const MOST_STACKS = 20;

/** Reads the number of nested stacks for the handlers; undefined for none. */
export function readHandlerStacks(context: Context): number | undefined {
  const stacks = optional(context, 'handlerStacks');
  return stacks === undefined ? undefined : whole('handlerStacks', number('handlerStacks', stacks), 1, MOST_STACKS);
}
