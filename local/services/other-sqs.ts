import { ListQueuesCommand } from '@aws-sdk/client-sqs';
import { openSqs } from '../../core/aws/clients.ts';
import { optionalSetting } from '../../core/config.ts';
import { SettingError } from '../../core/errors.ts';
import { CREDENTIALS } from '../state.ts';

/** The SQS server of the stack: the emulator, or the server that a setting names. */
export interface SqsServer {
  readonly endpoint: string;
  /** True for the emulator, which the stack starts and stops. */
  readonly ours: boolean;
  stop(): Promise<void>;
}

const SETTING = 'AWS_ENDPOINT_URL_SQS';
const EXPECTED = 'the address of a running SQS server such as http://127.0.0.1:9324';
const CHECK_TIMEOUT_MS = 5_000;

/**
 * Returns the server to use instead of the emulator, if one is set.
 * @throws SettingError if the value is not an HTTP address, or no SQS server answers there
 */
export async function findOtherSqs(region: string): Promise<SqsServer | undefined> {
  const endpoint = optionalSetting(SETTING);
  if (endpoint === undefined) return undefined;
  if (!/^https?:$/.test(URL.parse(endpoint)?.protocol ?? '')) throw new SettingError(SETTING, EXPECTED, endpoint);
  const reason = await whyNoAnswer(endpoint, region);
  if (reason !== undefined) {
    throw new SettingError(SETTING, `${EXPECTED} (this one does not answer: ${reason})`, endpoint);
  }
  return { endpoint, ours: false, stop: async () => undefined };
}

async function whyNoAnswer(endpoint: string, region: string): Promise<string | undefined> {
  const requestHandler = {
    requestTimeout: CHECK_TIMEOUT_MS,
    throwOnRequestTimeout: true,
    connectionTimeout: CHECK_TIMEOUT_MS,
  };
  const client = openSqs({ requestHandler, maxAttempts: 1 }, { endpoint, region, credentials: CREDENTIALS });
  try {
    await client.send(new ListQueuesCommand({ MaxResults: 1 }));
    return undefined;
  } catch (error) {
    if (!(error instanceof Error)) return String(error);
    // If a host name has two addresses, the error that covers both has no message.
    const [firstLine] = error.message.split('\n');
    return firstLine || ('code' in error ? String(error.code) : error.name);
  } finally {
    client.destroy();
  }
}
