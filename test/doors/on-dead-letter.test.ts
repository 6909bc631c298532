import { describe, expect, it } from 'vitest';
import { each, openDoors, same } from './world.ts';

const { engine, sql, library, text } = await openDoors();
const all = { ...sql, ...library, ...text };

async function targetOf(id: string): Promise<string | null | undefined> {
  const rows = await engine.sql<{ name: string | null }>(
    'select on_dead_letter as name from millrace.jobs where id = $1',
    [id],
  );
  return rows[0]?.name;
}

describe('on_dead_letter', () => {
  it.each(['report_failure', 'report_failure.mail', ''])(
    'has the same meaning in every interface: "%s"',
    async (name) => {
      const answers = await each(all, async (door) => {
        const answer = await door({ onDeadLetter: name });
        return 'refused' in answer ? answer.refused : targetOf(answer.id);
      });

      expect(answers).toEqual(same(all, name));
    },
  );

  it.each(['Report', 'a__b', `${'a'.repeat(62)}`])('is refused by every interface with its name: %s', async (name) => {
    const answers = await each(all, (door) => door({ onDeadLetter: name }));

    for (const [door, answer] of Object.entries(answers)) {
      expect(answer, door).toEqual({ refused: expect.stringMatching(/on.?dead.?letter/i) });
    }
  });
});
