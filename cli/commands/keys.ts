import { type Command, InvalidArgumentError, Option } from 'commander';
import type { ApiKey, NewApiKey as Wanted } from '../../core/access/api-keys.ts';
import { expandScopes, ROLES, SCOPES, type Scope } from '../../core/access/scopes.ts';
import { type Duration, seconds } from '../../core/duration.ts';
import { functionName } from '../../core/handler/naming.ts';
import { withBackend } from '../backend/open.ts';
import { CommandFailure, EXIT } from '../command-failure.ts';
import { action, examples } from '../options/action.ts';
import { lasting, rowNumber, whole } from '../options/values.ts';
import { confirm } from '../screen/confirm.ts';
import { snakeCase, toJson } from '../screen/json.ts';
import { addJsonLines, type ListOptions, printList } from '../screen/json-lines.ts';
import { print, printPairs, printRows, say, suggest, warn, whisper } from '../screen/terminal.ts';
import { lambdaFailure } from '../target/aws-failure.ts';

const HEADINGS = ['ID', 'NAME', 'STATE', 'SCOPES', 'CREATED', 'EXPIRES', 'LAST USED'];
const MORE_HELP = `
Roles: ${Object.entries(ROLES)
  .map(([role, scopes]) => `${role} (${scopes === SCOPES ? 'all' : scopes.join(', ')})`)
  .join('; ')}.
Keys are for the API in the mode api-key; that of npm start asks for none.
To rotate one, make a second, bring it to its callers, revoke the first.`;

/** `millrace keys create | list | revoke` */
export function addKeys(program: Command): void {
  const keys = program.command('keys').description('make, list and revoke keys for the API');
  keys.addHelpText('before', examples('keys create billing --scope producer --expires 90d', 'keys', 'keys revoke 3'));
  keys.addHelpText('after', MORE_HELP);
  addList(keys);
  addCreate(keys);
  addRevoke(keys);
}

function addCreate(keys: Command): void {
  keys
    .command('create')
    .argument('<name>', 'whose it is, as the audit log will call it', keyName)
    .description('make a key; its secret is shown this once')
    .addOption(
      new Option('--scope <scope>', 'a scope or a role, repeatable or with commas')
        .choices([...Object.keys(ROLES), ...SCOPES])
        .argParser(scopes)
        .makeOptionMandatory(),
    )
    .option('--expires <duration>', 'useless after so long, such as 90d; default never', lasting)
    .option('--stage <stage>', 'on AWS, by invoking the function of the API: for the first key of a stage')
    .addHelpText(
      'before',
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
        if (options.json) {
          print(toJson({ ...snakeCase(made.key), secret: made.secret }));
          return undefined;
        }
        printPairs([
          ['id', made.key.id],
          ['name', name],
          ['scopes', scope.join(', ')],
          ['expires', made.key.expiresAt ?? 'never'],
          ['secret', made.secret],
        ]);
        warn('the secret is not stored and not shown again: keep it now');
        return undefined;
      }),
    );
}

function addList(keys: Command): void {
  addJsonLines(keys.command('list', { isDefault: true }))
    .description('keys, the newest first, also those that serve no more')
    .addHelpText('before', examples('keys', 'keys --jsonl'))
    .option('--limit <n>', 'the most keys', whole(1, 10_000), 50)
    .action(
      action<ListOptions & { limit: number }>(async (options) => {
        const found = await withBackend(options, (backend) => backend.listApiKeys({ limit: options.limit }));
        printList(options, found.map(snakeCase), () => {
          if (found.length === 0) say('there is no key');
          else printRows(HEADINGS, found.map(toRow));
        });
        return undefined;
      }),
    );
}

function addRevoke(keys: Command): void {
  keys
    .command('revoke')
    .argument('<id>', 'as keys shows it', rowNumber('the id of a key, a whole number such as 3'))
    .description('make a key useless, at once and for ever')
    .option('-y, --yes', 'do not ask')
    .addHelpText('before', examples('keys revoke 3'))
    .action(
      action<{ yes?: boolean }>(async (options, id: string) => {
        if (!options.yes) await confirm(`Revoke key ${id} for good?`, { json: options.json ?? false });
        const known = await withBackend(options, (backend) => backend.revokeApiKey(id));
        if (!known) throw new CommandFailure(EXIT.notFound, `there is no key ${id}: npx millrace keys`);
        if (options.json) print(toJson({ id, revoked: true }));
        else printPairs([['revoked', id]]);
        suggest('npx millrace keys');
        return undefined;
      }),
    );
}

function toRow(key: ApiKey) {
  const { id, name, createdAt, expiresAt, lastUsedAt } = key;
  return [id, name, stateOf(key), key.scopes.join(', '), createdAt, expiresAt ?? 'never', lastUsedAt ?? 'never'];
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
  if (text.trim() !== '' && text.length <= 100) return text.trim();
  throw new InvalidArgumentError('Expected a name of 1 to 100 characters, such as billing.');
}

/**
 * Has the function of the API make a key, past the gateway: the API itself wants a key for it, and the database of a
 * stage may be out of reach. Region and credentials are those of the AWS environment.
 */
async function makeFirstKey(stage: string, wanted: Wanted): Promise<{ key: ApiKey; secret: string }> {
  const api = functionName(stage, 'api');
  whisper(`Function: ${api}`);
  // Loaded here: they bring Lambda's client, and zod for the schemas of the API.
  const { invokeFunction } = await import('../../core/aws/functions.ts');
  const { keyBody, readNewKey } = await import('../backend/by-api/keys.ts');
  const event = { create_key: keyBody(wanted) };
  const answer = await invokeFunction(api, event).catch((error: unknown) => {
    throw lambdaFailure(error, api);
  });
  const made = readNewKey(answer);
  if (made === undefined) {
    throw new CommandFailure(EXIT.failed, `${api} answered no key: is it of this release? Deploy it anew`);
  }
  return made;
}
