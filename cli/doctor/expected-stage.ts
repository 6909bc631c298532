import { dirname, resolve } from 'node:path';
import type { DeployedAddress } from '../../core/aws/deployed.ts';
import { type Catalog, loadCatalog } from '../../core/catalog/catalog.ts';
import { failureLine } from '../../core/catalog/catalog-failure.ts';
import { openProbe } from '../../core/catalog/probe.ts';
import { allSettings } from '../../core/config.ts';
import { type Variables, withVariables } from '../../core/handler/variables.ts';
import { withCompiler } from '../../local/functions/compiler.ts';
import { findHandlers, HANDLERS_EXPECTED, handlersFolder } from '../../local/handlers-folder.ts';
import { STAGE } from '../../local/state.ts';
import { assertTrustedCode, assertTrustedFolder } from '../../local/trust.ts';
import { CommandFailure, EXIT } from '../command-failure.ts';
import type { GlobalOptions } from '../global-options.ts';
import { printMessage } from '../screen/terminal.ts';
import { addressesOf, findOwnStack } from '../target/own-stack.ts';
import { type FoundStage, findStage } from '../target/stage-settings.ts';
import { namesTarget } from '../target/target.ts';

/** A stage, and the code that it should match. */
export interface ExpectedStage {
  readonly stage: string;
  /** Undefined for the AWS account that the environment names. */
  readonly address: DeployedAddress | undefined;
  readonly catalog: Catalog;
  /** What a person does to deploy the code. */
  readonly deploy: string;
}

export interface DoctorOptions extends GlobalOptions {
  readonly stage?: string;
  /** Folder of the handler files of the stage; default: the nearest of the usual ones. */
  readonly handlers?: string;
}

/** Returns whether the jobs can be found: with --stage, the options or the environment must name a database or API. */
export function knowsJobs({ stage, ...options }: DoctorOptions): boolean {
  return stage === undefined || namesTarget(options);
}

/** Returns the stage of the flag, on AWS; else the running stack, if the database belongs to it; else undefined. */
export async function findExpectedStage(options: DoctorOptions): Promise<ExpectedStage | undefined> {
  if (options.stage !== undefined) return onAws(options.stage, options.handlers);
  if (options.handlers !== undefined) throw new CommandFailure(EXIT.usage, '--handlers requires --stage');
  const found = await findOwnStack(options);
  if (found === undefined) return undefined;
  const folder = handlersFolder(found.folder, found.state.handlersFolder) ?? found.folder;
  assertTrustedCode(found.folder, folder);
  return {
    stage: STAGE,
    address: addressesOf(found.state),
    catalog: withVariablesIn(await readCatalog(found.folder, folder), found.state.variables),
    deploy:
      'save the handler file again, at least a minute after a queue was deleted, or restart the stack with npx millrace dev',
  };
}

async function onAws(stage: string, handlers: string | undefined): Promise<ExpectedStage> {
  const found = findStage(stage);
  const { project, folder } = handlers === undefined ? findCode(found) : codeIn(handlers);
  const catalog = await readCatalog(project, folder).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code !== 'ENOENT') throw cause;
    const setting = handlers === undefined ? `handlers of ${stage} in cdk.json` : '--handlers';
    throw new CommandFailure(EXIT.usage, `${setting}: the folder ${folder} does not exist`);
  });
  return {
    stage,
    address: undefined,
    catalog: withTracing(withVariablesIn(catalog, { ...allSettings(), ...variablesOf(found) }), tracingOf(found)),
    deploy: deployCommand(found, handlers),
  };
}

/** A plain deployment compares the code with the last deployment, not with the actual resources. */
function deployCommand({ stage, isListed }: FoundStage, handlers: string | undefined): string {
  const folder = handlers === undefined ? '' : ` -c handlers=${handlers}`;
  const command = `npx cdk deploy -c stage=${stage}${folder} --revert-drift`;
  return isListed ? command : `with all -c options of the last deployment, run ${command}`;
}

/** Returns the variables that the settings of a stage give to its handlers. */
function variablesOf({ settings: { settings } }: FoundStage): Variables {
  if (typeof settings !== 'object' || settings === null) return {};
  const texts = Object.entries(settings).filter((pair): pair is [string, string] => typeof pair[1] === 'string');
  return Object.fromEntries(texts);
}

/** Returns the definitions with the values of the variables with which they were deployed. */
function withVariablesIn({ handlers, failures }: Catalog, variables: Variables = {}): Catalog {
  return {
    handlers: handlers.map((entry) => ({ ...entry, definition: withVariables(entry.definition, variables) })),
    failures,
  };
}

/** Returns whether the stage traces its handlers; undefined if an option of its deployment may say so. */
function tracingOf({ settings: { tracing }, isListed }: FoundStage): boolean | undefined {
  return tracing === undefined && !isListed ? undefined : tracing === 'on';
}

/** Returns the definitions with the tracing of their stage, where they state none. */
function withTracing({ handlers, failures }: Catalog, tracing: boolean | undefined): Catalog {
  if (tracing === undefined) return { handlers, failures };
  const traced = handlers.map((entry) => {
    return { ...entry, definition: { ...entry.definition, aws: { tracing, ...entry.definition.aws } } };
  });
  return { handlers: traced, failures };
}

interface Code {
  readonly project: string;
  readonly folder: string;
}

function codeIn(folder: string): Code {
  assertTrustedFolder(folder);
  return { project: process.cwd(), folder };
}

/** Returns the folder of the handlers of a stage: that of `cdk.json`, else the usual one of this project. */
function findCode({ project, settings }: FoundStage): Code {
  if (project !== undefined && typeof settings.handlers === 'string' && settings.handlers !== '') {
    const folder = resolve(project, settings.handlers);
    assertTrustedCode(project, folder);
    return { project, folder };
  }
  const found = findHandlers(process.cwd());
  if (found !== undefined) {
    assertTrustedCode(found.folder, found.path);
    return { project: process.cwd(), folder: found.path };
  }
  throw new CommandFailure(
    EXIT.usage,
    `no ${HANDLERS_EXPECTED} in this folder or above it: name the folder of the handler files with --handlers`,
  );
}

function readCatalog(project: string, folder: string): Promise<Catalog> {
  const probe = openProbe(undefined, { printLine: printMessage });
  return withCompiler(project, (compile) => loadCatalog(folder, probe, compile));
}

/** Returns a sentence for each file that does not define a handler. */
export function brokenFiles({ failures }: Catalog): string[] {
  return failures.map((failure) => failureLine(failure, dirname(dirname(dirname(failure.file)))));
}
