import { InvokeCommand } from '@aws-sdk/client-lambda';
import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { SendMessageCommand } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { openLambda, openSqs } from '../../../core/aws/clients.ts';
import { ipv6Environment } from '../../../infra/bundle/options.ts';

const QueueUrl = 'https://sqs.eu-west-1.amazonaws.com/123456789012/millrace-prod-send_reminder';
const OPTIONS = { credentials: { accessKeyId: 'test', secretAccessKey: 'test' } };

beforeAll(() => {
  vi.stubEnv('AWS_REGION', 'eu-west-1');
  vi.stubEnv('AWS_USE_DUALSTACK_ENDPOINT', ipv6Environment.AWS_USE_DUALSTACK_ENDPOINT);
});
afterAll(() => void vi.unstubAllEnvs());

/** Sends a command through a client whose connection is replaced, and returns the host to which it would connect. */
async function hostOf(send: (requestHandler: { handle(request: { hostname: string }): Promise<never> }) => unknown) {
  let host = '';
  const handle = async ({ hostname }: { hostname: string }): Promise<never> => {
    host = hostname;
    throw new Error('no connection in this test');
  };
  await Promise.resolve(send({ handle })).catch(() => undefined);
  return host;
}

// AWS documents that these hosts have IPv6 addresses: in the guides of SQS, Lambda and Secrets Manager.
it('each client of a function without IPv4 connects to a host with an IPv6 address', async () => {
  const sqs = await hostOf((requestHandler) =>
    openSqs({ ...OPTIONS, maxAttempts: 1, requestHandler }).send(
      new SendMessageCommand({ QueueUrl, MessageBody: '{}' }),
    ),
  );
  const lambda = await hostOf((requestHandler) =>
    openLambda({ ...OPTIONS, maxAttempts: 1, requestHandler }).send(new InvokeCommand({ FunctionName: 'x' })),
  );
  const secrets = await hostOf((requestHandler) =>
    new SecretsManagerClient({ ...OPTIONS, maxAttempts: 1, requestHandler }).send(
      new GetSecretValueCommand({ SecretId: 'x' }),
    ),
  );

  expect({ sqs, lambda, secrets }).toEqual({
    sqs: 'sqs.eu-west-1.api.aws',
    lambda: 'lambda.eu-west-1.api.aws',
    secrets: 'secretsmanager.eu-west-1.amazonaws.com',
  });
});
