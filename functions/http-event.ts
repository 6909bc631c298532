/** The used parts of an HTTP API event, payload format 2.0. */
export interface HttpEvent {
  readonly rawPath: string;
  readonly rawQueryString: string;
  readonly cookies?: readonly string[];
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body?: string | null;
  readonly isBase64Encoded: boolean;
  readonly requestContext: {
    readonly requestId: string;
    readonly domainName: string;
    readonly http: { readonly method: string };
    readonly authorizer?: {
      readonly iam?: { readonly userArn?: string };
      readonly jwt?: { readonly claims?: Readonly<Record<string, unknown>> };
    };
  };
}

export interface HttpResult {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly isBase64Encoded: boolean;
}

/** Methods that `Request` refuses. They become OPTIONS, which the API does not support either. */
const FORBIDDEN = new Set(['TRACE', 'TRACK', 'CONNECT']);

export function toRequest(event: HttpEvent): Request {
  const { rawPath, rawQueryString, headers, body, isBase64Encoded, requestContext } = event;
  const method = FORBIDDEN.has(requestContext.http.method.toUpperCase()) ? 'OPTIONS' : requestContext.http.method;
  const query = rawQueryString === '' ? '' : `?${rawQueryString}`;
  const hasBody = body && method !== 'GET' && method !== 'HEAD';
  const path = rawPath.startsWith('/') ? rawPath : `/${rawPath}`;
  return new Request(`https://${requestContext.domainName}${path}${query}`, {
    method,
    headers: toHeaders(headers),
    ...(hasBody && { body: isBase64Encoded ? Buffer.from(body, 'base64') : body }),
  });
}

/**
 * Copies headers, except those that `Headers` does not accept, such as values outside Latin-1: no valid header of the
 * API has such a value.
 */
function toHeaders(given: HttpEvent['headers']): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue;
    try {
      headers.append(name, value);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
    }
  }
  return headers;
}

export async function toResult(response: Response): Promise<HttpResult> {
  const headers = Object.fromEntries(response.headers);
  return { statusCode: response.status, headers, body: await response.text(), isBase64Encoded: false };
}
