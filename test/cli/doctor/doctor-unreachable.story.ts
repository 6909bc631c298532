import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { createDatabase } from '../../support/database.ts';
import { runCli } from '../run-cli.ts';

const ROOT = join(import.meta.dirname, '../../..');

const database = await createDatabase();
afterAll(database.drop);

describe('doctor --stage reports once that no check can reach AWS', () => {
  const NOWHERE = {
    ...{ AWS_EC2_METADATA_DISABLED: 'true', HOME: '/nowhere', AWS_CONFIG_FILE: '/nowhere/config' },
    AWS_SHARED_CREDENTIALS_FILE: '/nowhere/credentials',
  };
  const KEYS = { AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' };
  const SET_KEYS = 'set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY';
  const REFUSES = 'http://127.0.0.1:1';

  it.each([
    [{}, 'the region is unknown, and no credentials were found: set AWS_REGION, and AWS_PROFILE, or AWS_ACCESS_KEY_ID'],
    [{ AWS_REGION: 'us-east-1' }, `no credentials were found: ${SET_KEYS}`],
    [KEYS, 'the region is unknown: set AWS_REGION\n'],
    [{ AWS_REGION: 'us-east-1', AWS_PROFILE: 'absent' }, `the profile absent has no credentials: ${SET_KEYS}`],
  ])('when settings are missing: %j', async (settings, sentence) => {
    const { code, stdout, stderr } = await runCli(['doctor', '--stage', 'dev'], {
      cwd: ROOT,
      env: { ...NOWHERE, ...settings },
    });

    expect({ code, stdout, lines: stderr.split('\n').length }).toEqual({ code: 7, stdout: '', lines: 2 });
    expect(stderr).toContain(`error: cannot reach AWS: ${sentence}`);
  });

  it('when neither SQS nor Lambda can be reached', async () => {
    const env = {
      ...NOWHERE,
      ...KEYS,
      AWS_REGION: 'us-east-1',
      AWS_ENDPOINT_URL_SQS: REFUSES,
      AWS_ENDPOINT_URL_LAMBDA: REFUSES,
    };

    const { code, stdout, stderr } = await runCli(['doctor', '--stage', 'dev'], { cwd: ROOT, env });

    expect({ code, stdout }).toEqual({ code: 7, stdout: '' });
    expect(stderr).toBe('error: millrace-dev-dispatcher: cannot reach SQS: connection refused\n');
  });

  it('beside the findings of the database', async () => {
    const args = ['doctor', '--stage', 'dev', '--database-url', database.url];

    const { code, stdout } = await runCli(args, { cwd: ROOT, env: NOWHERE });

    expect(code).toBe(8);
    expect(stdout).toMatch(/^OK\tclock\t/m);
    expect(stdout.match(/^FAIL\tAWS\tnot checked: cannot reach AWS: the region is unknown, .*$/gm)).toHaveLength(1);
    expect(stdout).not.toMatch(/\tqueues\t/);
  });
});
