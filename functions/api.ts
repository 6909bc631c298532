import catalog from '#catalog';
import { createApp } from '../api/app.ts';
import { readAuthentication } from '../api/auth/settings.ts';
import { optionalSetting, setting } from '../core/config.ts';
import { openConfiguredDatabase } from '../core/configured-database.ts';
import { openDispatcherFunction } from '../core/functions.ts';
import { type LambdaContext, nameInvocation, processLog } from '../core/log.ts';
import { type HttpEvent, type HttpResult, toRequest, toResult } from './http-event.ts';

const db = openConfiguredDatabase({
  ...{ max: 1, name: 'millrace-api', log: processLog },
  ...{ statementTimeoutMs: 15_000, connectTimeoutMs: 5000 },
});
const dispatcher = setting('MILLRACE_DISPATCHER_FUNCTION', 'the name of the dispatcher, which an enqueue wakes');
const app = createApp({
  db,
  catalog,
  dispatcher: openDispatcherFunction(dispatcher, processLog),
  authentication: readAuthentication(db),
  log: processLog,
  version: optionalSetting('MILLRACE_VERSION') ?? 'unknown',
  gatewayFacts: (event) => {
    const { requestId, authorizer } = (event as HttpEvent).requestContext;
    return { requestId, callerArn: authorizer?.iam?.userArn };
  },
});

/** The Lambda behind the gateway. `#catalog` stands for the deployed handlers and is set when it is bundled. */
export const handler = async (event: HttpEvent, context: LambdaContext): Promise<HttpResult> => {
  nameInvocation(context);
  return toResult(await app.fetch(toRequest(event), event));
};
