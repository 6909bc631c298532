import { afterAll, expect, it } from 'vitest';
import { handler, openRunner } from './runner-fixture.ts';

const fixture = await openRunner();
afterAll(() => fixture.close());
await fixture.add('secret', handler(`console.log('ran');`), { environment: { STRIPE_KEY: 'sk_live' } });

it.each([
  ['no credentials', undefined],
  ['the access key of another stack', 'AWS4-HMAC-SHA256 Credential=other/20261129/us-east-1/lambda/aws4_request, Si'],
  ['the beginning of the access key', 'AWS4-HMAC-SHA256 Credential=tes/20261129/us-east-1/lambda/aws4_request, Sig'],
  ['the access key in another scheme', 'Bearer test'],
])('a request with %s is refused and runs no function', async (_what, authorization) => {
  const headers = authorization === undefined ? {} : { authorization };
  const ask = (path: string, init: RequestInit = {}) => fetch(fixture.runner.endpoint + path, { headers, ...init });

  const answers = await Promise.all([
    ask('/2015-03-31/functions/'),
    ask('/2015-03-31/functions/secret'),
    ask('/2015-03-31/functions/secret/configuration'),
    ask('/2015-03-31/functions/none'),
    ask('/2015-03-31/event-source-mappings/'),
    ask('/2015-03-31/functions/secret/invocations', { method: 'POST', body: '{}' }),
    ask('/2017-10-31/functions/secret/concurrency', { method: 'PUT', body: '{"ReservedConcurrentExecutions":0}' }),
  ]);

  const texts = await Promise.all(answers.map((answer) => answer.text()));
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 403));
  for (const text of texts) {
    expect(text).toContain('use lambdaAccessKeyId from .millrace/dev.json as AWS_ACCESS_KEY_ID');
    expect(text).not.toContain('sk_live');
  }
  expect(fixture.lines()).not.toContain('ran');
});
