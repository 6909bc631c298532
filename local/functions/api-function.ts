import { readFile } from 'node:fs/promises';
import { functionName, OWN_FUNCTIONS } from '../../core/handler/naming.ts';
import { ownVersion } from '../../core/own-files.ts';
import { readApiAuthentication } from '../gateway/api-authentication.ts';
import { startGateway } from '../gateway/gateway.ts';
import type { Runner } from '../lambda/runner.ts';
import type { FunctionSpec } from '../lambda/specs.ts';
import type { StartServer } from '../processes/kept-ports.ts';
import { STAGE } from '../state.ts';
import { API_FUNCTION, apiBundle } from './bundling.ts';
import type { HandlerSettings } from './deploy-handler.ts';

export interface Api {
  readonly url: string;
  /** Deploys the newest bundle, if it differs from the deployed one. */
  deploy(): Promise<void>;
  close(): Promise<void>;
}

export interface ApiOptions {
  readonly runner: Runner;
  /** The folder that contains the bundles. */
  readonly bundles: string;
  /** Environment variables of every function. */
  readonly environment: Readonly<Record<string, string>>;
  /** Reads the variables of the project. */
  readonly settings: () => Promise<HandlerSettings>;
  readonly startServer: StartServer;
}

/**
 * Starts the HTTP API: its function, behind a gateway.
 * @throws SettingError if MILLRACE_API_AUTH of the project is not possible on one machine, or lacks a variable
 */
export async function startApi(options: ApiOptions): Promise<Api> {
  const { runner, bundles, environment, settings, startServer } = options;
  const { environment: ofCallers, authorize } = await readApiAuthentication((await settings()).variables);
  const start = (port: number) => startGateway({ port, functionName: API_FUNCTION, authorize }, runner);
  const gateway = await startServer('api', start);
  const bundle = apiBundle(bundles);
  const own = { ...environment, ...ofCallers, ...apiEnvironment(gateway.url) };
  const spec: FunctionSpec = { name: API_FUNCTION, bundle, ...OWN_FUNCTIONS.api, environment: own };
  let deployed = await readFile(bundle, 'utf8');
  runner.addFunction(spec);
  return {
    url: gateway.url,
    deploy: async () => {
      const code = await readFile(bundle, 'utf8');
      if (code !== deployed) runner.replaceFunction(spec);
      deployed = code;
    },
    close: () => gateway.close(),
  };
}

function apiEnvironment(url: string): Record<string, string> {
  return {
    MILLRACE_API_URL: url,
    MILLRACE_DISPATCHER_FUNCTION: functionName(STAGE, 'dispatcher'),
    MILLRACE_VERSION: ownVersion(),
  };
}
