import { describe, expect, it } from 'vitest';
import { runCli } from '../run-cli.ts';

const env = { DATABASE_URL: 'postgres://ada@127.0.0.1:1/none' };

describe('enqueue', () => {
  it.each([[['a', '--group-key', 'k'.repeat(600)]], [['a', '--unique-key', 'k'.repeat(501)]], [['A'.repeat(600)]]])(
    'does not repeat a long argument',
    async (args) => {
      const { code, stderr } = await runCli(['enqueue', ...args], { env });

      expect(code).toBe(2);
      expect(stderr.length).toBeLessThan(300);
    },
  );

  it('says that standard input is empty', async () => {
    const { code, stderr } = await runCli(['enqueue', 'a', '-'], { env, input: '' });

    expect({ code, stderr }).toEqual({ code: 2, stderr: 'error: standard input is empty\n' });
  });

  it.each(['10', '0s', '400d'])('names the option and the longest hold for --unique-for %s', async (hold) => {
    const { code, stderr } = await runCli(['enqueue', 'a', '--unique-key', 'k', '--unique-for', hold], { env });

    expect(code).toBe(2);
    expect(stderr).toContain(`'--unique-for <duration>' argument '${hold}' is invalid`);
    expect(stderr).toContain('at most 365d.');
  });
});

it.each([
  ['enqueue', ['enqueue', 'mail', '--payload', '{}']],
  ['enqueue, with =', ['enqueue', 'mail', '--payload={}']],
  ['schedules create', ['schedules', 'create', 'nightly', 'mail', '--every', '1h', '--payload', '{}']],
])('%s says where the payload goes, given --payload', async (_what, args) => {
  const { code, stderr } = await runCli(args);

  expect(code).toBe(2);
  expect(stderr).toContain("error: unknown option '--payload'; did you mean the argument [json]?\n");
});
