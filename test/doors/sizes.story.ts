import { expect, it } from 'vitest';
import { type Door, each, openDoors, same } from './world.ts';

const { sql, library, text } = await openDoors();

/** One interface of each kind, since millions of small parts take long. */
const some: Record<string, Door> = {
  sql: sql['millrace.enqueue'] as Door,
  library: library.enqueue as Door,
  text: text['POST /jobs'] as Door,
};
const all = { ...sql, ...library, ...text };
const list = (item: string, count: number) => `[${Array(count).fill(item).join()}]`;

it.each<[string, Record<string, Door>, string]>([
  ['a text', all, `"${'x'.repeat(1_048_574)}"`],
  ['many numbers', some, list('123456789', 95_325)],
  ['escapes', some, `"${'\\"'.repeat(524_287)}"`],
  ['two bytes for each character', some, `"${'é'.repeat(524_287)}"`],
])('a payload of 1 MiB, as Postgres prints it, is accepted by every interface: %s', async (_name, doors, payload) => {
  const answers = await each(doors, (door) => door({ payload }));

  expect(answers).toEqual(same(doors, { id: expect.any(String) }));
});

it.each<[string, Record<string, Door>, string, string]>([
  ['a text', all, `"${'x'.repeat(1_048_575)}"`, 'has 1048577 bytes'],
  ['many numbers', some, list('123456789', 95_326), 'has 1048586 bytes'],
  ['long numbers in a short notation', some, list('1e308', 3_372), 'has 1048692 bytes'],
])('a larger payload is refused by every interface with a reason: %s', async (_name, doors, payload, sentence) => {
  const answers = await each(doors, (door) => door({ payload }));

  for (const [name, answer] of Object.entries(answers)) {
    const reason = name in sql || name === 'sql' ? 'payload is at most 1 MiB' : sentence;
    expect(answer, name).toEqual({ refused: expect.stringContaining(reason) });
  }
});
