import { LambdaClient, type LambdaClientConfig } from '@aws-sdk/client-lambda';
import { SchedulerClient, type SchedulerClientConfig } from '@aws-sdk/client-scheduler';
import { SQSClient, type SQSClientConfig } from '@aws-sdk/client-sqs';

/** The address of a server outside AWS, and the credentials for signing requests to it. */
export interface AwsAddress {
  readonly endpoint: string;
  readonly region: string;
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string };
}

/**
 * The settings that a client would otherwise read from variables such as AWS_USE_FIPS_ENDPOINT or from ~/.aws/config,
 * which apply to AWS only.
 */
const OUTSIDE_AWS = {
  ...{ useFipsEndpoint: false, useDualstackEndpoint: false, authSchemePreference: ['sigv4'], userAgentAppId: '' },
  ...({ retryMode: 'standard', defaultsMode: 'standard' } as const),
};
const MAX_ATTEMPTS = 3;

/**
 * Opens a client. With an address, the client depends only on that address. Without an address, it connects to AWS:
 * region, credentials and endpoint come from the environment, as for every program on AWS.
 */
export function openSqs(options: SQSClientConfig, address?: AwsAddress): SQSClient {
  // The client ignores the host and port in a queue's URL, because the server may have moved to another port.
  return new SQSClient({ useQueueUrlAsEndpoint: false, maxAttempts: MAX_ATTEMPTS, ...options, ...settingsOf(address) });
}

export function openLambda(options: LambdaClientConfig, address?: AwsAddress): LambdaClient {
  return new LambdaClient({ maxAttempts: MAX_ATTEMPTS, ...options, ...settingsOf(address) });
}

export function openScheduler(options: SchedulerClientConfig): SchedulerClient {
  return new SchedulerClient({ maxAttempts: MAX_ATTEMPTS, ...options });
}

function settingsOf(address: AwsAddress | undefined) {
  return address && { ...OUTSIDE_AWS, ...address };
}
