import { SignatureV4 } from '@smithy/signature-v4';
import { openLambda } from './clients.ts';

export interface UnsignedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}

/** Returns the headers of a request with its signature. */
export type Sign = (request: UnsignedRequest) => Promise<Record<string, string>>;

/**
 * Signs requests to API Gateway with the credentials of the AWS environment: version 4, as every AWS client does. The
 * region is that in the address of API Gateway, or that of the environment for a domain of one's own.
 */
export function openSigner(): Sign {
  // A client is the way of the SDK to the credentials, the region and the hash. It sends nothing.
  const { config } = openLambda({});
  return async ({ method, url, headers, body }) => {
    const { protocol, hostname, host, port, pathname, searchParams } = new URL(url);
    const signer = new SignatureV4({
      service: 'execute-api',
      region: regionOf(hostname) ?? (await config.region()),
      credentials: config.credentials,
      sha256: config.sha256,
    });
    const { host: _sent, ...signed } = (
      await signer.sign({
        ...{ method, protocol, hostname, path: pathname, query: Object.fromEntries(searchParams), body },
        ...(port !== '' && { port: Number(port) }),
        headers: { ...headers, host },
      })
    ).headers;
    return signed;
  };
}

function regionOf(hostname: string): string | undefined {
  return /\.execute-api\.([a-z0-9-]+)\.amazonaws\.com(\.cn)?$/.exec(hostname)?.[1];
}
