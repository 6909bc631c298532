import { SettingError } from '../../core/errors.ts';
import { type Context, isOn, optional, readObject } from './context.ts';
import type { AlarmTarget } from './monitoring-settings.ts';
import { usualDatabase } from './place-settings.ts';
import { FORMS, formed } from './setting-values.ts';

/** How a stage is kept. */
export interface StageSettings {
  /** Whether the stack and its database refuse to be deleted, and logs and dead-letter queues outlive them. */
  readonly protect: boolean;
  /** Whether a new database has a second instance in another zone, to which it fails over. */
  readonly standby: boolean;
  /** Days between two rotations of the secrets of a new database, 1 to 1000; undefined for none. */
  readonly rotation: number | undefined;
  /** ARN of the KMS key with which the stage is encrypted; undefined for the keys of AWS. */
  readonly kmsKey: string | undefined;
  /** Whether X-Ray traces the functions, except handlers whose definition says otherwise. */
  readonly tracing: boolean;
  /** Tags of the resources, for example to attribute costs. */
  readonly tags: Readonly<Record<string, string>>;
}

/** Returns the defaults that cost money: a stage that is not protected is one to try things in. */
export function usualOf(protect: boolean) {
  const alarms: AlarmTarget | false = protect ? {} : false;
  return { database: { kind: usualDatabase(protect) }, alarms, dashboard: protect, metricsByJobType: protect } as const;
}

/** Returns whether a stage is protected unless a setting says otherwise. */
export function isProtected(stage: string): boolean {
  return stage !== 'dev';
}

export function readStageSettings(context: Context, stage: string): StageSettings {
  const protect = isOn(context, 'protect', isProtected(stage));
  const standby = isOn(context, 'standby', false);
  if (standby && optional(context, 'database') === 'existing') {
    throw new SettingError('standby', 'off, since database is existing', 'on');
  }
  return {
    ...{ protect, standby, rotation: readRotation(context), tags: readTags(context) },
    kmsKey: formed(context, 'kmsKey', FORMS.kmsKey),
    tracing: isOn(context, 'tracing', false),
  };
}

function readRotation(context: Context): number | undefined {
  const days = optional(context, 'rotation') ?? 'off';
  if (days === 'off') return undefined;
  if (/^[1-9]\d{0,3}$/.test(days) && Number(days) <= 1000) return Number(days);
  throw new SettingError('rotation', 'off, or the days between two rotations, 1 to 1000', days);
}

const TAGS_EXAMPLE = '{"team": "billing"}';

function readTags(context: Context): Record<string, string> {
  const tags = readObject(context, 'tags', TAGS_EXAMPLE);
  for (const [name, value] of Object.entries(tags)) {
    if (/^aws:/i.test(name)) throw new SettingError(`tags.${name}`, 'a name that does not begin with aws:', name);
    if (typeof value !== 'string') throw new SettingError(`tags.${name}`, 'a string', JSON.stringify(value));
  }
  return tags as Record<string, string>;
}
