import { basename, dirname, extname } from 'node:path';
import { handlerExport } from '../../infra/bundle/options.ts';

export interface VariablesRequest {
  functionName: string;
  /** Absolute path of the built `.mjs`. */
  bundle: string;
  memoryMb: number;
  region: string;
  /** `host:port` of the environment's Runtime API. */
  runtimeApi: string;
  /** The function's own variables; they override those of Lambda. */
  own: Readonly<Record<string, string>>;
}

/**
 * Returns the environment of a function's process: Lambda's variables and the function's own, but none from this
 * process.
 */
export function environmentVariables(request: VariablesRequest): Record<string, string> {
  const { functionName, bundle, memoryMb, region, runtimeApi, own } = request;
  return {
    PATH: '/usr/local/bin:/usr/bin:/bin',
    LANG: 'en_US.UTF-8',
    TZ: ':UTC',
    _HANDLER: `${basename(bundle, extname(bundle))}.${handlerExport}`,
    LAMBDA_TASK_ROOT: dirname(bundle),
    AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs24.x',
    AWS_LAMBDA_FUNCTION_NAME: functionName,
    AWS_LAMBDA_FUNCTION_VERSION: '$LATEST',
    AWS_LAMBDA_FUNCTION_MEMORY_SIZE: String(memoryMb),
    AWS_LAMBDA_LOG_GROUP_NAME: `/aws/lambda/${functionName}`,
    AWS_LAMBDA_LOG_STREAM_NAME: 'local',
    AWS_LAMBDA_INITIALIZATION_TYPE: 'on-demand',
    AWS_REGION: region,
    AWS_DEFAULT_REGION: region,
    // The SDK requires credentials for its signature; the emulators do not check it.
    AWS_ACCESS_KEY_ID: 'test',
    AWS_SECRET_ACCESS_KEY: 'test',
    ...own,
    AWS_LAMBDA_RUNTIME_API: runtimeApi,
  };
}
