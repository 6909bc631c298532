import { expect, it } from 'vitest';
import { runCli } from '../run-cli.ts';
import { listen } from './api-world.ts';

it('gives up after twenty seconds without a response of the API', async () => {
  const address = await listen(() => undefined);
  const env = { MILLRACE_API_KEY: `millrace_1_${'0'.repeat(32)}` };

  const answer = await runCli(['jobs', 'list', '--api-url', address], { env });

  expect(answer).toMatchObject({ code: 7, stdout: '' });
  expect(answer.stderr).toContain('no response within 20 s');
});
