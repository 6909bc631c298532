import { bundleEnvironment } from '../../infra/bundle/options.ts';

type Strings = Readonly<Record<string, string>>;

interface Addresses {
  readonly sqsEndpoint: string;
  readonly lambdaEndpoint: string;
  readonly databaseUrl: string;
}

/** Returns the variables of every function, which `.env` cannot replace. */
export function fixedEnvironment({ sqsEndpoint, lambdaEndpoint, databaseUrl }: Addresses): Strings {
  return {
    ...bundleEnvironment,
    // Each address is set twice: for the function itself, and for clients that a handler opens.
    ...{ MILLRACE_SQS_ENDPOINT: sqsEndpoint, AWS_ENDPOINT_URL_SQS: sqsEndpoint },
    ...{ MILLRACE_LAMBDA_ENDPOINT: lambdaEndpoint, AWS_ENDPOINT_URL_LAMBDA: lambdaEndpoint },
    ...{ MILLRACE_DISPATCH_MODE: 'loop', DATABASE_URL: databaseUrl },
  };
}

export function accessKey(id: string): Strings {
  return { MILLRACE_LAMBDA_ACCESS_KEY_ID: id, AWS_ACCESS_KEY_ID: id };
}

/** Returns the settings of the sample handlers, which `.env` can replace. */
export function ofSamples(smtpUrl: string): Strings {
  return { SMTP_URL: smtpUrl, THUMBNAIL_PRIVATE_HOSTS: '127.0.0.1,localhost' };
}
