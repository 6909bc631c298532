import { RegistryError, SettingError } from '../errors.ts';
import type { StepAnswer, StepRequest } from './deploy-step.ts';

/** A database as the settings of a deployment name it. */
export interface NamedDatabase {
  /** ARN of the owner's secret. */
  readonly arn: string;
  /** What the secret does not contain. */
  readonly host?: string | undefined;
  readonly port?: string | undefined;
  readonly database?: string | undefined;
}

/**
 * Returns the text by which a deployment knows its database: the address, and the secret if it contains the host or
 * the name.
 */
export function databaseIdentity({ arn, host, port, database }: NamedDatabase): string {
  const name = database?.trim();
  const address = [host ?? '', port ? `:${port}` : '', name ? `/${name}` : ''].join('');
  if (host && name) return address;
  return address === '' ? arn : `${arn}@${address}`;
}

/** What the migrate step does with a request. */
export interface Verdict {
  readonly prepares: boolean;
  readonly answer: StepAnswer;
}

/**
 * Decides whether the migrate step prepares its database for a request of CloudFormation. The id of the step is the
 * database that the stage uses, and stays the same when an update is refused.
 * @param own the database of this function
 * @throws RegistryError if the request would change the database without `moveDatabase`
 */
export function judgeRequest(request: StepRequest, own: string, stage: string): Verdict {
  const { RequestType: type, PhysicalResourceId: current, ResourceProperties: given = {} } = request;
  if (type === undefined) return { prepares: true, answer: {} };
  // The database stays, so nothing can prevent the removal of a stack.
  if (type === 'Delete') return { prepares: false, answer: {} };
  const { Database: next, MoveDatabase: move } = given;
  if (next === undefined) throw new SettingError('ResourceProperties.Database', 'the database of the stage', next);
  if (type === 'Update' && next !== current && move !== current && !undoesMove(request)) refuse(stage, current, next);
  // In a rollback, a request could name the previous database before this function has its previous settings.
  return { prepares: next === own, answer: { PhysicalResourceId: next } };
}

/** A rollback of a move asks for the database that the failed deployment has left, and cannot name it. */
function undoesMove({ ResourceProperties: given, OldResourceProperties: failed }: StepRequest): boolean {
  return failed?.MoveDatabase !== undefined && failed.MoveDatabase === given?.Database;
}

function refuse(stage: string, current: string | undefined, next: string): never {
  throw new RegistryError(
    `this deployment would change the database of the stage ${stage} from ${current} to ${next}, where its jobs are ` +
      `not: deploy with the settings of the present database, or let its jobs finish, or copy it, and deploy with ` +
      `-c stage=${stage} -c moveDatabase=${current}`,
  );
}
