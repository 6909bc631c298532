import type { Stack } from './stack.ts';
import { writeState } from './state.ts';

/** The folders of a start. */
export interface Place {
  readonly project: string;
  readonly handlersFolder: string;
}

/** Writes the addresses and handlers of a running stack, for the commands and for other tools. */
export async function publishState({ project, handlersFolder: folder }: Place, stack: Stack): Promise<void> {
  await writeState(project, {
    pid: process.pid,
    handlersFolder: folder,
    databaseUrl: stack.databaseUrl,
    sqsEndpoint: stack.sqsEndpoint,
    lambdaEndpoint: stack.runner.endpoint,
    lambdaAccessKeyId: stack.lambdaAccessKeyId,
    handlers: stack.handlers.list().map(({ definition, queueUrl, deadLetterQueueUrl }) => ({
      jobType: definition.jobType,
      routingKey: definition.routingKey,
      queueUrl,
      deadLetterQueueUrl,
    })),
    variables: stack.handlers.variables(),
    mailFolder: stack.services.mailFolder,
    smtpUrl: stack.smtpUrl,
    filesUrl: stack.services.files.url,
    apiUrl: stack.apiUrl,
  });
}
