import { resolve } from 'node:path';
import { CLAIM_LIMITS, checkPollInterval } from '../../core/dispatch/claim-settings.ts';
import type { DispatchMode } from '../../core/dispatch/dispatcher.ts';
import { secondsOfText } from '../../core/duration.ts';
import { SettingError } from '../../core/errors.ts';
import { isVariable, type Variables } from '../../core/handler/variables.ts';
import { whole } from '../../core/handler/whole.ts';
import { API_SETTINGS, type ApiChoice, readApi } from './api-settings.ts';
import { type Context, choice, isOn, list, number, optional, readObject } from './context.ts';
import { type MonitoringSettings, readMonitoring } from './monitoring-settings.ts';
import { type DatabaseChoice, type NetworkChoice, readDatabase, readNetwork } from './place-settings.ts';
import { readHandlerStacks } from './read-handler-stacks.ts';
import { check, checkEnvironment, checkHandlerSecrets, FORMS } from './setting-values.ts';
import { readStageSettings, type StageSettings } from './stage-settings.ts';
import { chooseStage } from './stages.ts';

/** The settings of one stage, from `-c name=value` and the context of `cdk.json`. */
export interface Settings extends StageSettings, MonitoringSettings {
  /** Part of every name, `[a-z][a-z0-9]*`, at most 12 characters. */
  readonly stage: string;
  /** Folder of the handler files. */
  readonly handlersFolder: string;
  readonly database: DatabaseChoice;
  readonly network: NetworkChoice;
  readonly dispatch: DispatchMode;
  /** Pause between two rounds of the dispatcher, in seconds, 0.1 to 60; undefined for a second. */
  readonly pollInterval: number | undefined;
  /** How many jobs a claim takes, 1 to 10,000; undefined for 1,000. */
  readonly claimLimit: number | undefined;
  readonly api: ApiChoice;
  readonly architecture: 'arm64' | 'x86_64';
  /** Environment variables for handlers, such as `SMTP_FROM`. No secrets: a template is readable. */
  readonly settings: Readonly<Record<string, string>>;
  /** Names of settings that only look like secrets. */
  readonly notSecret: readonly string[];
  /** ARNs of the secrets that definitions name, by these names. */
  readonly secrets: Readonly<Record<string, string>>;
  /** Variables that set the attempts of handlers, such as `MILLRACE_MAX_ATTEMPTS` (`core/handler/variables.ts`). */
  readonly variables: Variables;
  /** Handlers to remove although they have unfinished jobs. */
  readonly drain: readonly string[];
  /** The stage from which this one takes the database. */
  readonly takeOver: string | undefined;
  /** The database that the stage leaves for another one, as the refused deployment named it. */
  readonly moveDatabase: string | undefined;
  /** Number of nested stacks for the handlers, 1 to 20; undefined for none. It never changes for a stage. */
  readonly handlerStacks: number | undefined;
  /** `max_connections` of the database, with which the deployment's connections are compared. */
  readonly maxConnections: number | undefined;
  /** How many functions the account can run at once in the region. */
  readonly accountConcurrency: number;
  /** Whether handlers log the start of each attempt. */
  readonly logJobStarts: boolean;
}

const NAMES = [
  ...[
    'stage',
    'stages',
    'handlers',
    'settings',
    'notSecret',
    'secrets',
    'dispatch',
    'pollInterval',
    'claimLimit',
    'architecture',
    'maxConnections',
    'accountConcurrency',
    'drain',
    'takeOver',
    'moveDatabase',
    'handlerStacks',
  ],
  ...['protect', 'standby', 'rotation', 'tags', 'kmsKey', 'tracing'],
  ...['database', 'databaseOwnerSecret', 'databaseRuntimeSecret', 'databaseAppSecret'],
  ...['databaseHost', 'databasePort', 'databaseName', 'databaseCa'],
  ...['databaseLogin', 'databaseUser', 'databaseResourceId'],
  ...['vpcId', 'subnetIds', 'availabilityZones', 'securityGroupIds', 'egress'],
  ...API_SETTINGS,
  ...['alarms', 'alarmTopicArn', 'alarmEmail', 'alarmWebhook', 'dashboard', 'metrics', 'metricsByJobType'],
  'logJobStarts',
];

/**
 * Reads the settings of the chosen stage from the context of the app.
 * @param files the part of the context that is from files; the rest is from the command line
 * @throws SettingError that names the setting when one is missing, malformed or unknown.
 */
export function readSettings(given: Context, handlers = 'functions/handlers', files: Context = {}): Settings {
  checkNames(given);
  const { context, placeOf } = chooseStage(given, files, NAMES);
  try {
    return readContext(context, handlers);
  } catch (error) {
    if (!(error instanceof SettingError)) throw error;
    throw error.at(placeOf(error.field.split('.')[0] ?? ''));
  }
}

function readContext(context: Context, handlers: string): Settings {
  const takeOver = optional(context, 'takeOver');
  const drain = list(context, 'drain').map((name) => check('drain', name, FORMS.handler));
  const maxConnections = optional(context, 'maxConnections');
  const notSecret = list(context, 'notSecret');
  const stage = checkStage(optional(context, 'stage'));
  const kept = readStageSettings(context, stage);
  return {
    notSecret,
    stage,
    ...kept,
    handlersFolder: resolve(optional(context, 'handlers') ?? handlers),
    ...splitSettings(readObject(context, 'settings', SETTINGS_EXAMPLE), notSecret),
    secrets: checkHandlerSecrets(readObject(context, 'secrets', SECRETS_EXAMPLE)),
    dispatch: choice(context, 'dispatch', ['auto', 'loop', 'tick']),
    ...readClaims(context),
    architecture: choice(context, 'architecture', ['arm64', 'x86_64']),
    database: readDatabase(context, kept.protect),
    network: readNetwork(context),
    api: readApi(context),
    ...readMonitoring(context, kept.protect),
    logJobStarts: isOn(context, 'logJobStarts', true),
    drain,
    takeOver: takeOver === undefined ? undefined : checkStage(takeOver, 'takeOver'),
    moveDatabase: optional(context, 'moveDatabase'),
    handlerStacks: readHandlerStacks(context),
    maxConnections: maxConnections === undefined ? undefined : number('maxConnections', maxConnections),
    accountConcurrency: number('accountConcurrency', optional(context, 'accountConcurrency') ?? '1000'),
  };
}

type Claims = Pick<Settings, 'pollInterval' | 'claimLimit'>;

function readClaims(context: Context): Claims {
  const interval = optional(context, 'pollInterval');
  const limit = optional(context, 'claimLimit');
  return checkClaims({
    pollInterval: interval === undefined ? undefined : secondsOfText(interval, 'pollInterval'),
    claimLimit: limit === undefined ? undefined : number('claimLimit', limit),
  });
}

/** Checks how often the dispatcher claims, and how many jobs. @throws SettingError that names the setting */
export function checkClaims({ pollInterval, claimLimit }: Claims): Claims {
  if (pollInterval !== undefined) checkPollInterval('pollInterval', pollInterval);
  if (claimLimit !== undefined) whole('claimLimit', claimLimit, ...CLAIM_LIMITS);
  return { pollInterval, claimLimit };
}

const SETTINGS_EXAMPLE = '{"SMTP_FROM": "jobs@example.com"}';
const SECRETS_EXAMPLE = '{"API_TOKEN": "arn:…"}';

/** Separates the variables that Millrace reads from those that handlers read. @throws SettingError that names one */
export function splitSettings(given: Record<string, unknown>, notSecret: readonly string[] = []) {
  const pairs = Object.entries(checkEnvironment('settings', given, notSecret));
  return {
    settings: Object.fromEntries(pairs.filter(([name]) => !isVariable(name))),
    variables: Object.fromEntries(pairs.filter(([name]) => isVariable(name))),
  };
}

/** Refuses unknown names. Names that CDK itself puts into the context contain other characters. */
function checkNames(context: Context): void {
  const unknown = Object.keys(context).find((name) => /^\w+$/.test(name) && !NAMES.includes(name));
  if (unknown === undefined) return;
  throw new SettingError('context', `one of ${NAMES.join(', ')}`, unknown);
}

/** @throws SettingError unless the stage can be part of every name. */
export function checkStage(stage: string | undefined, name = 'stage'): string {
  if (stage !== undefined && /^[a-z][a-z0-9]{0,11}$/.test(stage)) return stage;
  throw new SettingError(name, 'at most 12 lower-case letters and digits, a letter first', stage);
}
