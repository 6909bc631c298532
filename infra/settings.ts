import { resolve } from 'node:path';
import { SettingError } from '../core/errors.ts';
import type { ApiChoice } from './api.ts';
import { type Context, choice, list, number, optional, present, readObject, required } from './context.ts';
import type { DatabaseChoice } from './database.ts';
import type { AlarmTarget } from './deployed-alarms.ts';
import type { MillraceProps } from './millrace.ts';
import type { Egress } from './network.ts';

/** What `-c name=value` and the context of `cdk.json` choose. */
export interface Settings extends Omit<MillraceProps, 'handlers' | 'network' | 'version'> {
  /** Folder of the handler files. */
  readonly handlersFolder: string;
  readonly network: NetworkChoice;
}

export interface NetworkChoice {
  /** A VPC that is there already. */
  readonly inside?: {
    readonly vpcId: string;
    readonly subnetIds: readonly string[];
    readonly availabilityZones: readonly string[];
    readonly securityGroupIds: readonly string[];
  };
  readonly egress?: Egress;
}

const NAMES = [
  ...['stage', 'handlers', 'settings', 'dispatch', 'architecture', 'maxConnections', 'drain'],
  ...['database', 'databaseOwnerSecret', 'databaseRuntimeSecret', 'databaseAppSecret'],
  ...['databaseHost', 'databasePort', 'databaseName', 'databaseCa'],
  ...['vpcId', 'subnetIds', 'availabilityZones', 'securityGroupIds', 'egress'],
  ...['api', 'apiIamScopes', 'jwtIssuer', 'jwtAudience'],
  ...['alarms', 'alarmTopicArn', 'alarmEmail', 'dashboard', 'metricsByJobType'],
];

/**
 * Reads the context of the app.
 * @throws SettingError that names the setting when one is missing, malformed or unknown.
 */
export function readSettings(context: Context): Settings {
  checkNames(context);
  const drain = list(context, 'drain');
  const maxConnections = optional(context, 'maxConnections');
  return {
    stage: readStage(context),
    handlersFolder: resolve(optional(context, 'handlers') ?? 'functions/handlers'),
    settings: readTexts(context, 'settings'),
    dispatch: choice(context, 'dispatch', ['auto', 'loop', 'tick']),
    architecture: choice(context, 'architecture', ['arm64', 'x86_64']),
    database: readDatabase(context),
    network: readNetwork(context),
    api: readApi(context),
    alarms: readAlarms(context),
    dashboard: choice(context, 'dashboard', ['on', 'off']) === 'on',
    metricsByJobType: choice(context, 'metricsByJobType', ['on', 'off']) === 'on',
    drain,
    maxConnections: maxConnections === undefined ? undefined : number('maxConnections', maxConnections),
  };
}

/** What CDK itself puts into the context has other characters in its name. */
function checkNames(context: Context): void {
  const unknown = Object.keys(context).find((name) => /^\w+$/.test(name) && !NAMES.includes(name));
  if (unknown === undefined) return;
  throw new SettingError('context', `only what there is (${NAMES.join(', ')})`, unknown);
}

function readStage(context: Context): string {
  const stage = optional(context, 'stage');
  if (stage !== undefined && /^[a-z][a-z0-9]{0,11}$/.test(stage)) return stage;
  throw new SettingError('stage', 'lower-case letters and digits, a letter first, at most 12', stage);
}

function readDatabase(context: Context): DatabaseChoice {
  const texts = {
    ...{ appSecret: optional(context, 'databaseAppSecret'), host: optional(context, 'databaseHost') },
    ...{ port: optional(context, 'databasePort'), name: optional(context, 'databaseName') },
    ...{ ca: optional(context, 'databaseCa') },
  };
  const kind = choice(context, 'database', ['create', 'existing']);
  if (kind === 'create') return { kind };
  const because = 'the ARN of a secret in Secrets Manager, since database is existing';
  return {
    kind,
    ownerSecret: secretArn('databaseOwnerSecret', because, required(context, 'databaseOwnerSecret', because)),
    runtimeSecret: secretArn('databaseRuntimeSecret', because, required(context, 'databaseRuntimeSecret', because)),
    ...present(texts),
  };
}

/** The whole of it, with the six characters at its end: a policy can then name the secret without a wildcard. */
function secretArn(name: string, because: string, arn: string): string {
  if (/^arn:[^:]+:secretsmanager:[^:]+:\d+:secret:.+-\w{6}$/.test(arn)) return arn;
  throw new SettingError(name, because, arn);
}

function readNetwork(context: Context): NetworkChoice {
  const vpcId = optional(context, 'vpcId');
  const egress =
    context.egress === undefined ? {} : { egress: choice(context, 'egress', ['endpoints', 'nat', 'none']) };
  if (vpcId === undefined) {
    const idle = ['subnetIds', 'availabilityZones', 'securityGroupIds'].find(
      (name) => optional(context, name) !== undefined,
    );
    if (idle !== undefined) throw new SettingError('vpcId', `the id of a VPC, since ${idle} is given`, undefined);
    return egress;
  }
  const ids = (name: string): string[] => {
    const found = list(context, name);
    if (found.length > 0) return found;
    throw new SettingError(name, 'names with commas between them, since vpcId is given', undefined);
  };
  const subnetIds = ids('subnetIds');
  const availabilityZones = ids('availabilityZones');
  if (availabilityZones.length !== subnetIds.length) {
    throw new SettingError('availabilityZones', `one a subnet, ${subnetIds.length}`, availabilityZones.length);
  }
  return { inside: { vpcId, subnetIds, availabilityZones, securityGroupIds: ids('securityGroupIds') }, ...egress };
}

function readApi(context: Context): ApiChoice {
  const mode = choice(context, 'api', ['api-key', 'iam', 'jwt', 'off']);
  switch (mode) {
    case 'iam':
      return { mode, scopes: readIamScopes(context) };
    case 'jwt':
      return {
        mode,
        issuer: required(context, 'jwtIssuer', 'the issuer of the tokens, since api is jwt'),
        audience: required(context, 'jwtAudience', 'what the tokens have as their audience, since api is jwt'),
      };
    case 'api-key':
      return { mode };
    case 'off':
      return { mode };
  }
}

function readAlarms(context: Context): AlarmTarget | false {
  const target = present({ topicArn: optional(context, 'alarmTopicArn'), email: optional(context, 'alarmEmail') });
  if (choice(context, 'alarms', ['on', 'off']) === 'on') return target;
  if (Object.keys(target).length === 0) return false;
  throw new SettingError('alarms', 'on, since alarmTopicArn or alarmEmail is given', 'off');
}

const IAM_EXAMPLE = '{"arn:aws:sts::123456789012:assumed-role/OnCall/*": ["operator"]}';

function readIamScopes(context: Context): string {
  const scopes = readObject(context, 'apiIamScopes', IAM_EXAMPLE);
  if (Object.keys(scopes).length > 0) return JSON.stringify(scopes);
  throw new SettingError('apiIamScopes', `JSON such as ${IAM_EXAMPLE}, since api is iam`, undefined);
}

function readTexts(context: Context, name: string): Record<string, string> {
  const example = '{"SMTP_FROM": "jobs@example.com"}';
  const entries = Object.entries(readObject(context, name, example));
  const wrong = entries.find(([, value]) => typeof value !== 'string');
  const ours = entries.find(([key]) => key.startsWith('MILLRACE_'));
  if (ours)
    throw new SettingError(`${name}.${ours[0]}`, 'a name of your own: the app sets those of MILLRACE_', ours[1]);
  if (wrong) throw new SettingError(`${name}.${wrong[0]}`, `text, as in ${example}`, JSON.stringify(wrong[1]));
  return Object.fromEntries(entries.map(([key, value]) => [key, String(value)]));
}
