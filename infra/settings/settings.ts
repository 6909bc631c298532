import { resolve } from 'node:path';
import type { DispatchMode } from '../../core/dispatch/dispatcher.ts';
import { SettingError } from '../../core/errors.ts';
import { type Context, choice, list, number, optional, present, readObject, refuseIdle, required } from './context.ts';
import { type DatabaseChoice, type NetworkChoice, readDatabase, readNetwork } from './place-settings.ts';
import { check, checkEnvironment, checkIamScopes, FORMS, formed } from './setting-values.ts';

/** How callers of the API prove who they are, or no API at all. */
export type ApiChoice =
  | { readonly mode: 'off' }
  | { readonly mode: 'api-key' }
  /** `scopes`: JSON of the patterns of ARNs and what they may do. */
  | { readonly mode: 'iam'; readonly scopes: string }
  | { readonly mode: 'jwt'; readonly issuer: string; readonly audience: string };

/** Who is told: a topic that is there, or a new one with a mail address; without either, alarms are only seen. */
export interface AlarmTarget {
  readonly topicArn?: string;
  readonly email?: string;
}

/** What `-c name=value` and the context of `cdk.json` choose. */
export interface Settings {
  /** Part of every name, `[a-z][a-z0-9]*`, at most 12 characters. */
  readonly stage: string;
  /** Folder of the handler files. */
  readonly handlersFolder: string;
  readonly database: DatabaseChoice;
  readonly network: NetworkChoice;
  readonly dispatch: DispatchMode;
  readonly api: ApiChoice;
  readonly architecture: 'arm64' | 'x86_64';
  /** What handlers find in their environment besides, such as `SMTP_FROM`. A template is no place for secrets. */
  readonly settings: Readonly<Record<string, string>>;
  /** Handlers whose removal is meant although they have unfinished jobs. */
  readonly drain: readonly string[];
  /** What the database allows; the sum of ours is held against it. */
  readonly maxConnections: number | undefined;
  /** Who is told of alarms; `false` makes none. */
  readonly alarms: AlarmTarget | false;
  readonly dashboard: boolean;
  /** Whether the numbers in CloudWatch, each of which is paid for, tell job types apart. */
  readonly metricsByJobType: boolean;
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
  const drain = list(context, 'drain').map((name) => check('drain', name, FORMS.handler));
  const maxConnections = optional(context, 'maxConnections');
  return {
    stage: readStage(context),
    handlersFolder: resolve(optional(context, 'handlers') ?? 'functions/handlers'),
    settings: checkEnvironment('settings', readObject(context, 'settings', '{"SMTP_FROM": "jobs@example.com"}')),
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

function readApi(context: Context): ApiChoice {
  const mode = choice(context, 'api', ['api-key', 'iam', 'jwt', 'off']);
  refuseIdle(context, mode === 'iam' ? [] : ['apiIamScopes'], `nothing, since api is ${mode} and not iam`);
  refuseIdle(context, mode === 'jwt' ? [] : ['jwtIssuer', 'jwtAudience'], `nothing, since api is ${mode} and not jwt`);
  switch (mode) {
    case 'iam':
      return { mode, scopes: readIamScopes(context) };
    case 'jwt':
      return {
        mode,
        issuer: check(
          'jwtIssuer',
          required(context, 'jwtIssuer', 'the issuer of the tokens, since api is jwt'),
          FORMS.issuer,
        ),
        audience: required(context, 'jwtAudience', 'what the tokens have as their audience, since api is jwt'),
      };
    case 'api-key':
      return { mode };
    case 'off':
      return { mode };
  }
}

function readAlarms(context: Context): AlarmTarget | false {
  const target = present({
    topicArn: formed(context, 'alarmTopicArn', FORMS.topic),
    email: formed(context, 'alarmEmail', FORMS.email),
  });
  if (choice(context, 'alarms', ['on', 'off']) === 'on') return target;
  if (Object.keys(target).length === 0) return false;
  throw new SettingError('alarms', 'on, since alarmTopicArn or alarmEmail is given', 'off');
}

const IAM_EXAMPLE = '{"arn:aws:sts::123456789012:assumed-role/OnCall/*": ["operator"]}';

function readIamScopes(context: Context): string {
  const scopes = checkIamScopes('apiIamScopes', readObject(context, 'apiIamScopes', IAM_EXAMPLE));
  if (Object.keys(scopes).length > 0) return JSON.stringify(scopes);
  throw new SettingError('apiIamScopes', `JSON such as ${IAM_EXAMPLE}, since api is iam`, undefined);
}
