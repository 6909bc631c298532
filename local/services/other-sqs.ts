import { ListQueuesCommand, SQSClient } from '@aws-sdk/client-sqs';
import { optionalSetting } from '../../core/config.ts';
import { SettingError } from '../../core/errors.ts';
import { CREDENTIALS } from '../state.ts';

/** The SQS that everything uses: our emulator, or the server that a setting names. */
export interface SqsServer {
  readonly endpoint: string;
  /** Whether we started it, and stop it. */
  readonly ours: boolean;
  stop(): Promise<void>;
}

const SETTING = 'AWS_ENDPOINT_URL_SQS';
const EXPECTED = 'the address of a running SQS server such as http://127.0.0.1:9324';
const PATIENCE_MS = 5_000;

/**
 * The server to use in place of our emulator, if one is set.
 * @throws SettingError when it is no address, or nothing there answers as SQS does.
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
  const requestHandler = { requestTimeout: PATIENCE_MS, throwOnRequestTimeout: true, connectionTimeout: PATIENCE_MS };
  const client = new SQSClient({ endpoint, region, credentials: CREDENTIALS, requestHandler, maxAttempts: 1 });
  try {
    await client.send(new ListQueuesCommand({ MaxResults: 1 }));
    return undefined;
  } catch (error) {
    if (!(error instanceof Error)) return String(error);
    // Where a name has two addresses, the error of both has no words of its own.
    const [words] = error.message.split('\n');
    return words || ('code' in error ? String(error.code) : error.name);
  } finally {
    client.destroy();
  }
}
