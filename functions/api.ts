import modules from '#catalog';
import { createApp } from '../api/app.ts';
import { keyRefusal, readAuthentication } from '../api/auth/settings.ts';
import { openHandlerSchemas } from '../api/handler-schemas.ts';
import { makeFirstKey } from '../api/routes/api-keys.ts';
import { openConfiguredDatabase } from '../core/aws/configured.ts';
import { openDispatcherFunction } from '../core/aws/functions.ts';
import { optionalSetting, serviceAddress, setting } from '../core/config.ts';
import { claimNudge, releaseNudge } from '../core/dispatch/claim-nudge.ts';
import { type LambdaContext, nameInvocation, processLog } from '../core/log.ts';
import { type HttpEvent, type HttpResult, toRequest, toResult } from './http-event.ts';

const db = openConfiguredDatabase({
  ...{ max: 1, name: 'millrace-api', log: processLog },
  ...{ statementTimeoutMs: 15_000, connectTimeoutMs: 5000 },
});
const dispatcher = setting('MILLRACE_DISPATCHER_FUNCTION', 'the function name of the dispatcher');
const refused = keyRefusal();
const app = createApp({
  db,
  schemas: openHandlerSchemas(modules),
  dispatcher: openDispatcherFunction({
    functionName: dispatcher,
    log: processLog,
    nudges: { claim: () => claimNudge(db), release: () => releaseNudge(db) },
    address: serviceAddress('LAMBDA'),
  }),
  authentication: readAuthentication(db),
  keyRefusal: refused,
  log: processLog,
  version: optionalSetting('MILLRACE_VERSION') ?? 'unknown',
  gatewayFacts: (event) => {
    const { requestId, authorizer } = (event as HttpEvent).requestContext;
    return { requestId, callerArn: authorizer?.iam?.userArn, claims: authorizer?.jwt?.claims };
  },
});

/** The event of a direct invocation, which IAM authorises, to create the first API key. */
interface KeyEvent {
  /** Same as the body of `POST /admin/api-keys`. */
  readonly create_key: unknown;
}

/** The Lambda behind the gateway. Bundling sets `#catalog` to the modules of the deployed handlers. */
export const handler = async (
  event: HttpEvent | KeyEvent,
  context: LambdaContext,
): Promise<HttpResult | Record<string, unknown>> => {
  nameInvocation(context);
  if ('requestContext' in event) return toResult(await app.fetch(toRequest(event), event));
  return refused !== undefined ? { refused } : makeFirstKey(db, event.create_key, context.awsRequestId);
};
