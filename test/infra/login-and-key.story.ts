import { expect, it } from 'vitest';
import type { Context } from '../../infra/settings/context.ts';
import { Deployed } from './deployed.ts';
import { KEY, needsOf, type Statement, statementsById, usesOf } from './key-uses.ts';
import { expectNoViolation } from './nag-report.ts';
import { EXISTING, IAM } from './synthesise.ts';

/** Functions that log in with the login that the setting chooses. */
const FUNCTIONS = ['dispatcher', 'dlq-mirror', 'api', 'registry', 'send_reminder', 'make_thumbnail'];
const APP = { databaseAppSecret: String(EXISTING.databaseOwnerSecret).replace('owner', 'app') };

interface Case {
  readonly login: 'password' | 'iam';
  readonly key: 'none' | 'set';
  readonly database: string;
  readonly settings: Context;
}

const LOGINS = ['password', 'iam'] as const;
const KEYS = ['none', 'set'] as const;
const ADDRESS = { databaseHost: 'jobs.example.com', databasePort: '6432', databaseName: 'jobs' };
/** With a key, an existing database has every optional setting. */
const CASES: readonly Case[] = LOGINS.flatMap((login) =>
  KEYS.flatMap((key) => {
    const existing = login === 'iam' ? IAM : EXISTING;
    const more = { ...APP, ...ADDRESS, databaseCa: 'infra/rds-ca.pem' };
    const databases: [string, Context][] = [
      ['create, rotated', { database: 'create', databaseLogin: login, egress: 'nat', rotation: '30' }],
      ['small, rotated', { database: 'small', databaseLogin: login, egress: 'endpoints', rotation: '30' }],
      ['existing', { ...existing, ...(key === 'set' && more) }],
    ];
    return databases.map(([database, settings]) => ({ login, key, database, settings }));
  }),
);

/** Returns which logins the statements allow to read, or as which to log in. */
function loginsOf(statements: readonly Statement[]): string[] {
  const named = (resource: unknown) => {
    const [, name = 'unknown'] =
      /(?:Database|secret:)(runtime|app|owner|cluster|instance)/i.exec(JSON.stringify(resource)) ?? [];
    return name.toLowerCase().replace(/cluster|instance/, 'owner');
  };
  return statements
    .flatMap(({ Action, Resource }) => {
      const actions = [Action].flat();
      if (actions.includes('rds-db:connect')) return ['user'];
      return actions.includes('secretsmanager:GetSecretValue') ? [Resource].flat().map(named) : [];
    })
    .toSorted();
}

it.each(CASES)(
  'login $login, key $key, database $database: each role has the grants that it requires',
  async ({ login, key, settings }) => {
    const given = { stage: 'prod', tracing: 'on', alarmEmail: 'oncall@example.com' };

    const stack = await expectNoViolation({ ...given, ...settings, ...(key === 'set' && { kmsKey: KEY }) });

    const deployed = new Deployed(stack);
    const statementsOf = (name: string) => deployed.statementsOf(`millrace-prod-${name}`) as unknown as Statement[];
    const secrets = login === 'iam' ? ['owner'] : ['owner', 'runtime'];
    const app = settings.database === 'existing' && !('databaseAppSecret' in settings) ? [] : ['app'];
    const holders = statementsById(deployed);
    const rotated = 'rotation' in settings ? [...app, ...secrets].toSorted() : [];
    const watched = deployed.find('AWS::CloudWatch::Alarm', 'AlarmName', 'millrace-prod-rotation-errors');
    expect(FUNCTIONS.map((name) => loginsOf(statementsOf(name)))).toEqual(
      FUNCTIONS.map(() => [login === 'iam' ? 'user' : 'runtime']),
    );
    expect(loginsOf(statementsOf('migrate'))).toEqual([...app, ...secrets].toSorted());
    expect(holders.map(([id, statements]) => [id, usesOf(statements)])).toEqual(
      holders.map(([id, statements]) => [id, key === 'set' ? needsOf(statements) : []]),
    );
    expect(holders.filter(([, statements]) => usesOf(statements).includes('sqs kms:GenerateDataKey'))).toHaveLength(
      key === 'set' ? 3 : 0,
    );
    // The function of AWS decrypts, and its role is in a stack of its own.
    const hosted = deployed.all('AWS::SecretsManager::RotationSchedule').map(({ Properties }) => Properties);
    expect(hosted.map(({ HostedRotationLambda: made }) => made)).toMatchObject(
      hosted.map(() => (key === 'set' ? { KmsKeyArn: KEY } : {})),
    );
    expect(namesIn(hosted)).toEqual(rotated);
    expect(namesIn(watched?.Metrics ?? [])).toEqual(rotated);
  },
  600_000,
);

/** Returns the secrets whose functions are named. */
function namesIn(part: unknown): string[] {
  return (JSON.stringify(part).match(/(?<=millrace-prod-rotate-)\w+(?=-secret)/g) ?? []).toSorted();
}
