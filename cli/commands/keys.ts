import { type Command, InvalidArgumentError, Option } from 'commander';
import { type ApiKey, KEY_NAME, type NewApiKey as Wanted } from '../../core/access/api-keys.ts';
import { expandScopes, ROLES, SCOPES, type Scope } from '../../core/access/scopes.ts';
import { type Duration, seconds } from '../../core/duration.ts';
import { functionName } from '../../core/handler/naming.ts';
import { withBackend } from '../backend/open.ts';
import { CommandFailure, EXIT } from '../command-failure.ts';
import { action, examples } from '../options/action.ts';
import { addDefault } from '../options/default-command.ts';
import { lasting, rowNumber, whole } from '../options/values.ts';
import { confirm } from '../screen/confirm.ts';
import { snakeCase, toJson } from '../screen/json.ts';
import { addJsonLines, type ListOptions, printList } from '../screen/json-lines.ts';
import { print, printHint, printMessage, printPairs, printTable, suggest, warn } from '../screen/terminal.ts';
import { lambdaFailure } from '../target/aws-failure.ts';
import { findStage } from '../target/stage-settings.ts';

const HEADINGS = ['ID', 'NAME', 'STATE', 'SCOPES', 'CREATED', 'EXPIRES', 'LAST USED', 'CREATED BY'];
const MORE_HELP = `
Roles: ${Object.entries(ROLES)
  .map(([role, scopes]) => `${role} (${scopes === SCOPES ? 'all' : scopes.join(', ')})`)
  .join('; ')}.
The API requires keys in api-key mode; the API of npx millrace dev requires none.
To rotate a key, create a second one, give it to the callers, then revoke the first.`;

/** `millrace keys create | list | revoke` */
export function addKeys(program: Command): void {
  const keys = program.command('keys').description('create, list and revoke API keys');
  keys.addHelpText('after', examples('keys create billing --scope producer --expires 90d', 'keys', 'keys revoke 3'));
  keys.addHelpText('after', MORE_HELP);
  addList(keys);
  addCreate(keys);
  addRevoke(keys);
}

function addCreate(keys: Command): void {
  keys
    .command('create')
    .argument('<name>', 'a name for the caller that uses the key, shown in the audit log', keyName)
    .description('create a key; its secret is shown only once')
    .addOption(
      new Option('--scope <scope>', 'scopes or roles; separate with commas or repeat the option')
        .choices([...Object.keys(ROLES), ...SCOPES])
        .argParser(scopes)
        .makeOptionMandatory(),
    )
    .option(
      '--expires <duration>',
      'lifetime of the key, such as 90d; default: unlimited, or until the key that creates it expires',
      lasting,
    )
    .option('--stage <stage>', 'create the first key of this stage on AWS by invoking its API function')
    .addHelpText(
      'after',
      examples('keys create billing --scope producer', 'keys create ops --scope admin --stage prod'),
    )
    .addHelpText('after', MORE_HELP)
    .action(
      action<{ scope: Scope[]; expires?: Duration; stage?: string }>(async (options, name: string) => {
        const { scope, expires, stage } = options;
        const expiresInSeconds = expires === undefined ? undefined : seconds(expires, 'expires');
        const wanted = { name, scopes: scope, expiresInSeconds };
        const made = await (stage === undefined
          ? withBackend(options, (backend) => backend.createApiKey(wanted))
          : makeFirstKey(stage, wanted));
        if (options.json) print(toJson({ ...snakeCase(made.key), secret: made.secret }));
        else printNewKey(made);
        return undefined;
      }),
    );
}

function printNewKey({ key, secret }: { key: ApiKey; secret: string }): void {
  printPairs([
    ['id', key.id],
    ['name', key.name],
    ['scopes', key.scopes.join(', ')],
    ['expires', key.expiresAt ?? 'never'],
    ['secret', secret],
  ]);
  warn('the secret is not stored and is not shown again: save it now');
}

function addList(keys: Command): void {
  addJsonLines(addDefault(keys, 'list'))
    .description('list keys, newest first, including expired and revoked keys')
    .addHelpText('after', examples('keys', 'keys --jsonl'))
    .option('--limit <n>', 'maximum number of keys', whole(1, 10_000), 50)
    .action(
      action<ListOptions & { limit: number }>(async (options) => {
        const found = await withBackend(options, (backend) => backend.listApiKeys({ limit: options.limit }));
        printList(options, found.map(snakeCase), () => {
          if (found.length === 0) printMessage('no keys exist');
          else printTable(HEADINGS, found.map(toRow));
        });
        return undefined;
      }),
    );
}

function addRevoke(keys: Command): void {
  keys
    .command('revoke')
    .argument('<id>', 'the id of the key, as shown by keys', rowNumber('the id of a key, a whole number such as 3'))
    .description('revoke a key immediately and permanently')
    .option('--with-made', 'also revoke the keys that were created with this key, directly or indirectly')
    .option('-y, --yes', 'skip the confirmation')
    .addHelpText('after', examples('keys revoke 3', 'keys revoke 3 --with-made'))
    .action(
      action<{ yes?: boolean; withMade?: boolean }>(async (options, id: string) => {
        const { withMade = false } = options;
        const what = withMade ? `key ${id} and all keys created with it` : `key ${id}`;
        if (!options.yes) await confirm(`Permanently revoke ${what}?`, { json: options.json ?? false });
        const known = await withBackend(options, (backend) => backend.revokeApiKey(id, { withMade }));
        if (!known) throw new CommandFailure(EXIT.notFound, `key ${id} does not exist: see npx millrace keys`);
        if (options.json) print(toJson({ id, revoked: true }));
        else printPairs([['revoked', id]]);
        suggest('npx millrace keys');
        return undefined;
      }),
    );
}

function toRow(key: ApiKey) {
  const { id, name, createdAt, expiresAt, lastUsedAt, madeBy } = key;
  const times = [createdAt, expiresAt ?? 'never', lastUsedAt ?? 'never'];
  return [id, name, stateOf(key), key.scopes.join(', '), ...times, madeBy];
}

function stateOf({ revokedAt, expiresAt }: ApiKey): string {
  if (revokedAt !== null) return 'revoked';
  return expiresAt !== null && expiresAt.getTime() < Date.now() ? 'expired' : 'valid';
}

function scopes(text: string, before: readonly Scope[] = []): Scope[] {
  const found = expandScopes(text.split(',').map((word) => word.trim()));
  if (found !== undefined) return [...new Set([...before, ...found])];
  throw new InvalidArgumentError(`Expected scopes (${SCOPES.join(', ')}) or roles (${Object.keys(ROLES).join(', ')}).`);
}

function keyName(text: string): string {
  if (KEY_NAME.test(text)) return text;
  throw new InvalidArgumentError('Expected a name of 1 to 100 letters, digits, spaces and _ . : @ -, such as billing.');
}

/**
 * Creates a key by invoking the function of the API directly: the API itself requires a key for this, and the database
 * of a stage may be unreachable. Uses the region and credentials of the AWS environment.
 */
async function makeFirstKey(stage: string, wanted: Wanted): Promise<{ key: ApiKey; secret: string }> {
  const api = functionName(findStage(stage).stage, 'api');
  printHint(`Function: ${api}`);
  // Loaded here: they import the Lambda client, and zod for the API's schemas.
  const { invokeFunction } = await import('../../core/aws/functions.ts');
  const { keyBody, readNewKey, readRefusal } = await import('../backend/by-api/keys.ts');
  const event = { create_key: keyBody(wanted) };
  const answer = await invokeFunction(api, event).catch((error: unknown) => {
    throw lambdaFailure(error, api);
  });
  const made = readNewKey(answer);
  const refusal = readRefusal(answer);
  if (refusal !== undefined) throw new CommandFailure(EXIT.conflict, `${api}: ${refusal}`);
  if (made === undefined) {
    throw new CommandFailure(EXIT.failed, `${api} returned no key: deploy this release of Millrace to the stage`);
  }
  return made;
}
