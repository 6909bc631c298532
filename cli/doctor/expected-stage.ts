import { dirname } from 'node:path';
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
  const folder = handlers ?? findCode();
  if (folder === undefined) {
    throw new CommandFailure(
      EXIT.usage,
      `no ${HANDLERS_EXPECTED} in this folder or above it: name the folder of the handler files with --handlers`,
    );
  }
  assertTrustedFolder(folder);
  const catalog = await readCatalog(process.cwd(), folder).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code !== 'ENOENT') throw cause;
    throw new CommandFailure(EXIT.usage, `--handlers: the folder ${folder} does not exist`);
  });
  // A plain deployment compares the code with the last deployment, not with the actual resources.
  return {
    stage,
    address: undefined,
    catalog: withVariablesIn(catalog, allSettings()),
    deploy: `npx cdk deploy -c stage=${stage} --revert-drift`,
  };
}

/** Returns the definitions with the values of the variables with which they were deployed. */
function withVariablesIn({ handlers, failures }: Catalog, variables: Variables = {}): Catalog {
  return {
    handlers: handlers.map((entry) => ({ ...entry, definition: withVariables(entry.definition, variables) })),
    failures,
  };
}

/** Returns the folder of the handlers of this project. */
function findCode(): string | undefined {
  const found = findHandlers(process.cwd());
  if (found !== undefined) assertTrustedCode(found.folder, found.path);
  return found?.path;
}

function readCatalog(project: string, folder: string): Promise<Catalog> {
  const probe = openProbe(undefined, { printLine: printMessage });
  return withCompiler(project, (compile) => loadCatalog(folder, probe, compile));
}

/** Returns a sentence for each file that does not define a handler. */
export function brokenFiles({ failures }: Catalog): string[] {
  return failures.map((failure) => failureLine(failure, dirname(dirname(dirname(failure.file)))));
}
