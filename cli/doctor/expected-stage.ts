import { dirname, join } from 'node:path';
import type { DeployedAddress } from '../../core/aws/deployed.ts';
import { optionalSetting } from '../../core/config.ts';
import { type Catalog, failureLine, loadCatalog } from '../../core/handler/catalog.ts';
import { STAGE } from '../../local/state.ts';
import { CommandFailure, EXIT } from '../command-failure.ts';
import type { GlobalOptions } from '../global-options.ts';
import { addressOf, findHandlers, findOwnStack } from '../target/own-stack.ts';

/** A stage, and the code that it is expected to match. */
export interface ExpectedStage {
  readonly stage: string;
  /** Undefined for the AWS account that the environment names. */
  readonly address: DeployedAddress | undefined;
  readonly catalog: Catalog;
  /** What makes it as the code says. */
  readonly deploy: string;
}

export interface DoctorOptions extends GlobalOptions {
  readonly stage?: string;
  /** Folder of the handler files of the stage; the nearest `functions/handlers` when it is not said. */
  readonly handlers?: string;
}

/** On AWS nobody can guess where the jobs are, and a database that runs here is another one. */
export function knowsJobs({ stage, databaseUrl, apiUrl }: DoctorOptions): boolean {
  const settings = [optionalSetting('DATABASE_URL'), optionalSetting('MILLRACE_API_URL')];
  return stage === undefined || [databaseUrl, apiUrl, ...settings].some((address) => address !== undefined);
}

/** The stage of the flag, on AWS; else the running stack, if the database is its; else undefined. */
export async function findExpectedStage(options: DoctorOptions): Promise<ExpectedStage | undefined> {
  if (options.stage !== undefined) return onAws(options.stage, options.handlers);
  if (options.handlers !== undefined)
    throw new CommandFailure(EXIT.usage, '--handlers says what --stage is held against');
  const found = await findOwnStack(options);
  if (found === undefined) return undefined;
  const { sqsEndpoint, lambdaEndpoint } = found.state;
  return {
    stage: STAGE,
    address: { sqs: addressOf(sqsEndpoint), lambda: addressOf(lambdaEndpoint) },
    catalog: await loadCatalog(join(found.folder, 'functions', 'handlers')),
    deploy:
      'save the file of the handler anew, a minute after a queue was deleted at the earliest, or start the stack again with npm start',
  };
}

async function onAws(stage: string, handlers: string | undefined): Promise<ExpectedStage> {
  const folder = handlers ?? findHandlers(process.cwd());
  if (folder === undefined) {
    throw new CommandFailure(
      EXIT.usage,
      'no functions/handlers here or above, against which to hold the stage: name its folder with --handlers',
    );
  }
  const catalog = await loadCatalog(folder).catch(() => {
    throw new CommandFailure(EXIT.usage, `--handlers: there is no folder ${folder}`);
  });
  // A plain deployment compares the code with the last one, and not with what is there.
  return { stage, address: undefined, catalog, deploy: `npx cdk deploy -c stage=${stage} --revert-drift` };
}

/** One sentence a file that gives no handler. */
export function brokenFiles({ failures }: Catalog): string[] {
  return failures.map((failure) => failureLine(failure, dirname(dirname(dirname(failure.file)))));
}
