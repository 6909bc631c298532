import { createHash } from 'node:crypto';

/**
 * Returns the number, from 1, of the nested stack of a handler. It depends only on its name and on the number of
 * stacks: a queue has a fixed name, so that CloudFormation cannot move it to another stack.
 */
export function stackOf(name: string, stacks: number): number {
  return (createHash('sha256').update(name).digest().readUInt32BE() % stacks) + 1;
}
