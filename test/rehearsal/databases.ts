import { expect, it } from 'vitest';
import { ROLLED_BACK } from './commands.ts';
import type { Deployment } from './deployment.ts';
import { insertJob, untilJob } from './jobs.ts';

/** The part of the rehearsal in which the settings of the database are wrong. */
export function testFaultyDatabases(opened: () => Deployment): void {
  it.each([
    [
      'an unreachable database',
      () => ['databasePort=1', `moveDatabase=${opened().address}`],
      /connect ECONNREFUSED 127\.0\.0\.1:1 \(the database/,
    ],
    [
      'a wrong secret',
      () => [`databaseOwnerSecret=${opened().wrongSecret}`],
      /authentication failed .*\(the user or password is not a login/,
    ],
  ])('reports %s in one sentence and rolls back', async (_case, context, sentence) => {
    const { code, output } = await opened().deploy(...context().flatMap((one) => ['--context', one]));

    expect(code).toBe(1);
    expect(output).toMatch(sentence);
    expect(output).toMatch(ROLLED_BACK);
  });
}

/** The part of the rehearsal that gives the stage another database. */
export function testMove(opened: () => Deployment): void {
  it('refuses another database before anything changes, and then moves the stage to it, and back', async () => {
    const deployment = opened();
    const { address } = deployment;
    const other = await deployment.createDatabase('other');
    const move = (name: string, from: string) =>
      deployment.deploy('--context', `databaseName=${name}`, '--context', `moveDatabase=${from}`);

    const refused = await deployment.deploy('--context', 'databaseName=other');
    const untouched = await other.handlers();
    const id = await insertJob(deployment, 'recording', {});
    await untilJob(deployment, id, { status: 'succeeded' });
    const moved = await move('other', address);
    const handlers = await other.handlers();
    const returned = await move('millrace', other.address);

    expect(refused.code).toBe(1);
    expect(refused.output).toContain(
      `would change the database of the stage rehearsal from ${address} to ${other.address}`,
    );
    expect(refused.output).toContain(`-c stage=rehearsal -c moveDatabase=${address}`);
    expect(refused.output).toMatch(ROLLED_BACK);
    expect(untouched).toBeUndefined();
    expect(moved.code, moved.output).toBe(0);
    expect(handlers).toEqual(['failing', 'recording']);
    expect(returned.code, returned.output).toBe(0);
  }, 600_000);
}
