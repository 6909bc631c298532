import { NewApiKey } from '../api/schemas.ts';
import type { ApiKey, NewApiKey as Wanted } from '../core/access/api-keys.ts';
import { functionName } from '../core/handler/naming.ts';
import { keyBody, newKey } from './backend/by-api/keys.ts';
import { CommandFailure } from './command-failure.ts';
import { EXIT } from './exit-code.ts';
import { lambdaFailure } from './lambda-failure.ts';
import { whisper } from './screen/terminal.ts';

/**
 * Has the function of the API make a key, past the gateway: the API itself wants a key for it, and the database of a
 * stage may be out of reach. Region and credentials are those of the AWS environment.
 */
export async function makeFirstKey(stage: string, wanted: Wanted): Promise<{ key: ApiKey; secret: string }> {
  const api = functionName(stage, 'api');
  whisper(`Function: ${api}`);
  const event = { create_key: keyBody(wanted) };
  // Loaded here: nothing else of the keys needs Lambda's client.
  const { invokeFunction } = await import('../core/aws/functions.ts');
  const answer = await invokeFunction(api, event).catch((error: unknown) => {
    throw lambdaFailure(error, api);
  });
  const { data } = NewApiKey.safeParse(answer);
  if (data === undefined) {
    throw new CommandFailure(EXIT.failed, `${api} answered no key: is it of this release? Deploy it anew`);
  }
  return newKey(data);
}
