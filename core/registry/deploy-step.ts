import { StringDecoder } from 'node:string_decoder';

/**
 * What CloudFormation passes to a step of the deployment, with what Millrace reads of it. A user who invokes the
 * function of a step passes nothing.
 */
export interface StepRequest {
  readonly RequestType?: 'Create' | 'Update' | 'Delete';
  /** What the step answered before. */
  readonly PhysicalResourceId?: string;
  readonly ResourceProperties?: StepProperties;
  readonly OldResourceProperties?: StepProperties;
}

export interface StepProperties {
  /** The database, as `databaseIdentity` describes it. */
  readonly Database?: string;
  /** The database from which this deployment may move the stage. */
  readonly MoveDatabase?: string;
}

/** The answer of a step. CloudFormation passes the id to the next request. */
export interface StepAnswer {
  readonly PhysicalResourceId?: string;
}

/** CloudFormation discards an answer of more than 4,096 bytes. The rest of it is for ids and the stack trace. */
const LONGEST_MESSAGE = 2000;
const MOST_FRAMES = 3;

/** Runs a step. Its error fits into an answer to CloudFormation, and the log of the function has the whole message. */
export async function runStep<Answer>(step: () => Promise<Answer>): Promise<Answer> {
  try {
    return await step();
  } catch (error) {
    throw error instanceof Error ? shorten(error) : error;
  }
}

/** The first line of the stack has the whole message: Lambda writes it to the log, and CDK leaves it out. */
function shorten(error: Error): Error {
  const [header = '', ...frames] = (error.stack ?? '').split(/\n(?=\s+at )/);
  const bytes = Buffer.from(error.message);
  const start = new StringDecoder('utf8').write(bytes.subarray(0, LONGEST_MESSAGE));
  error.message = bytes.length > LONGEST_MESSAGE ? `${start}…` : error.message;
  error.stack = [header.replaceAll('\n', ' '), ...frames.slice(0, MOST_FRAMES)].join('\n');
  return error;
}
