import { describe, expect, it } from 'vitest';
import { openBothWays } from './api-world.ts';

const { pool, byApi, byDatabase, keyOf, adminKey } = await openBothWays();

describe('keys', () => {
  it('are created with the same document through the database and through the API', async () => {
    const command = ['keys', 'create', 'billing', '--scope', 'producer,jobs:read', '--expires', '90m', '--json'];

    const [one, other] = await Promise.all([byDatabase(command), byApi(command)]);

    const made = [one, other].map(({ stdout }) => JSON.parse(stdout));
    const lifetimes = made.map((key) => (Date.parse(key.expires_at) - Date.parse(key.created_at)) / 60_000);
    expect([one.code, other.code]).toEqual([0, 0]);
    expect(Object.keys(made[1])).toEqual(Object.keys(made[0]));
    expect(made[1].scopes).toEqual(made[0].scopes);
    expect(lifetimes).toEqual([90, 90]);
    expect((await byApi(['jobs', 'list'], made[1].secret)).code).toBe(0);
  });

  it('are listed and revoked the same way through the database and through the API', async () => {
    const victim = await keyOf(['jobs:read']);
    const id = victim.split('_')[1]!;

    const lists = await Promise.all([byDatabase, byApi].map((run) => run(['keys', '--json', '--limit', '2'])));
    const unknown = await Promise.all([byDatabase, byApi].map((run) => run(['keys', 'revoke', '9999', '--yes'])));
    const unsaid = await byApi(['keys', 'revoke', id]);
    const revoked = await byApi(['keys', 'revoke', id, '--yes', '--json']);
    const late = await byApi(['jobs', 'list'], victim);

    const withoutUse = lists.map(({ stdout }) => stdout.replaceAll(/"last_used_at":[^}]*/g, ''));
    expect(withoutUse[1]).toBe(withoutUse[0]);
    expect(unknown[1]).toEqual(unknown[0]);
    expect(unsaid).toMatchObject({ code: 6, stdout: '' });
    expect(revoked).toMatchObject({ code: 0, stdout: `{"id":"${id}","revoked":true}\n` });
    expect(late).toMatchObject({ code: 4, stdout: '' });
  });

  it('cannot be created with scopes that the caller lacks', async () => {
    const weak = await keyOf(['keys:admin']);

    const answer = await byApi(['keys', 'create', 'x', '--scope', 'operator'], weak);

    expect(answer).toMatchObject({ code: 2, stdout: '' });
    expect(answer.stderr).toContain('it can grant only scopes that it has');
    expect(answer.stderr).not.toContain(adminKey);
  });
});

describe('doctor', () => {
  const checks = ({ stdout }: { stdout: string }): { check: string; ok: boolean; detail: string }[] =>
    JSON.parse(stdout).checks;

  it('finds the same through the API in the checks that the API supports', async () => {
    await pool.query(`
      update millrace.handlers set paused_at = now() where job_type = 'mail';
      update millrace.handlers set held_until = now() + interval '1 hour', hold_reason = 'no queue'
        where job_type = 'any' and routing_key = '';
      insert into millrace.jobs (job_type) values ('unhandled'), ('any');
      insert into millrace.dead_letters (raw_body, last_error, fingerprint) values ('{{', 'odd', md5('odd'))`);

    const [one, other] = await Promise.all([byDatabase(['doctor', '--json']), byApi(['doctor', '--json'])]);

    const seen = checks(other).filter(({ check }) => !['api', 'clock'].includes(check));
    expect([one.code, other.code]).toEqual([8, 8]);
    expect(seen.filter(({ ok }) => !ok).map(({ check }) => check)).toEqual([
      ...['dispatcher', 'paused handlers', 'held handlers', 'jobs without a handler', 'dead letters'],
    ]);
    for (const finding of seen) expect(checks(one)).toContainEqual(finding);
    expect(checks(other)[0]).toMatchObject({ check: 'api', ok: true, detail: 'ready, release 1.2.3' });
    expect(checks(other)[1]).toMatchObject({ check: 'clock', ok: true });
  });

  it('reports an API that is not ready and sends no further requests', async () => {
    await pool.query("update millrace.migrations set name = name || '_' where name like '00%'");

    const answer = await byApi(['doctor', '--json']);

    await pool.query("update millrace.migrations set name = rtrim(name, '_')");
    expect(answer.code).toBe(8);
    expect(checks(answer)).toMatchObject([{ check: 'api', ok: false }]);
    expect(checks(answer)[0]!.detail).toContain('run the migrations');
  });

  it('reports each check that the key does not permit', async () => {
    const { code, stdout } = await byApi(['doctor'], await keyOf(['jobs:enqueue']));

    expect(code).toBe(8);
    expect(stdout).toMatch(/^OK\tapi\t/m);
    expect(stdout).toMatch(/^FAIL\tjobs\tnot checked: the key lacks the scope jobs:read .*use credentials with/m);
    expect(stdout).toMatch(/^FAIL\tdead letters\tnot checked: the key lacks the scope /m);
  });
});
