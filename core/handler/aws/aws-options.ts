import { SettingError } from '../../errors.ts';
import { nameFault } from '../../settings/declared.ts';
import { asObject, checkKeys } from '../policy-fields.ts';
import { whole } from '../whole.ts';

/** What the role of a handler's function may do, beside what Millrace requires. */
export interface PolicyStatement {
  /** Such as `s3:PutObject`, or `s3:Get*`. */
  readonly actions: readonly string[];
  /** ARNs, or `*`. They can contain `{stage}`, `{region}` and `{account}`, which a deployment replaces. */
  readonly resources: readonly string[];
}

/** What only the function of a handler on AWS has, as plain data. One machine ignores all but the environment. */
export interface AwsOptions {
  readonly policy?: readonly PolicyStatement[];
  /** Variables of the function, by name. The settings of a stage override them. No secrets: a template is readable. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Size of its folder `/tmp` in MB, 512 to 10240. Default 512. */
  readonly ephemeralStorage?: number;
  /** Whether AWS X-Ray traces its invocations. Default: what its stage says. */
  readonly tracing?: boolean;
  /** ARNs of up to five layer versions, for the architecture of the stage. They can contain `{region}`. */
  readonly layers?: readonly string[];
  /** Processes that Lambda keeps started, at most the `concurrency` of the handler. Default: none. */
  readonly provisionedConcurrency?: number;
}

const ACTION = /^[a-z][a-z0-9-]*:[A-Za-z*?][A-Za-z0-9*?]*$/;
const RESOURCE = /^(?:\*|arn:[^\s]{1,2000})$/;
const LAYER = /^arn:[\w-]+:lambda:(?:[a-z\d-]+|\{region\}):\d{12}:layer:[\w-]{1,140}:\d+$/;
const LAYER_EXPECTED = 'ARNs of layer versions, such as arn:aws:lambda:{region}:123456789012:layer:fonts:3';
/** Lambda's limit. */
const MOST_LAYERS = 5;
const PLACEHOLDERS = ['{stage}', '{region}', '{account}'];
/** A role has room for 10,240 characters of policies. */
const MOST_STATEMENTS = 20;

const CHECKS: { readonly [Option in keyof Required<AwsOptions>]: (field: string, value: unknown) => void } = {
  policy: checkPolicyStatements,
  environment: checkEnvironment,
  ephemeralStorage: (field, value) => void whole(field, value as number, 512, 10_240),
  tracing: checkTracing,
  layers: checkLayers,
  provisionedConcurrency: (field, value) => void whole(field, value as number, 1, 1000),
};

/** @throws SettingError that names the option as `aws.policy[0].actions` */
export function checkAws(options: unknown): void {
  if (options === undefined) return;
  checkKeys('aws', options as object, Object.keys(CHECKS));
  for (const [option, value] of Object.entries(options as AwsOptions)) {
    if (value !== undefined) CHECKS[option as keyof AwsOptions](`aws.${option}`, value);
  }
}

function checkPolicyStatements(field: string, policy: unknown): void {
  if (!Array.isArray(policy) || policy.length > MOST_STATEMENTS) {
    throw new SettingError(field, `a list of at most ${MOST_STATEMENTS} statements`, policy);
  }
  for (const [index, statement] of policy.entries()) {
    const place = `${field}[${index}]`;
    const { actions, resources } = asObject(place, statement);
    checkKeys(place, statement, ['actions', 'resources']);
    checkTexts(`${place}.actions`, actions, { form: ACTION, expected: "actions such as ['s3:PutObject']" });
    checkTexts(`${place}.resources`, resources, { form: RESOURCE, expected: "ARNs such as ['arn:aws:s3:::shop/*']" });
  }
}

interface Texts {
  readonly form: RegExp;
  readonly expected: string;
}

function checkTexts(field: string, texts: unknown, { form, expected }: Texts): void {
  if (!Array.isArray(texts) || texts.length === 0) throw new SettingError(field, expected, texts);
  const wrong = texts.find((text) => typeof text !== 'string' || !form.test(text));
  if (wrong !== undefined || texts.includes(undefined)) throw new SettingError(field, expected, wrong);
  for (const text of texts) checkPlaceholders(field, text);
}

function checkPlaceholders(field: string, text: string): void {
  const unknown = text.match(/\{[^}]*\}/g)?.find((word) => !PLACEHOLDERS.includes(word));
  if (unknown !== undefined) throw new SettingError(field, `only the placeholders ${PLACEHOLDERS.join(', ')}`, unknown);
}

function checkEnvironment(field: string, environment: unknown): void {
  for (const [name, value] of Object.entries(asObject(field, environment as object))) {
    const fault = nameFault(name);
    if (fault !== undefined) throw new SettingError(field, fault, name);
    if (typeof value !== 'string') throw new SettingError(`${field}.${name}`, 'a string', value);
  }
}

function checkTracing(field: string, value: unknown): void {
  if (typeof value !== 'boolean') throw new SettingError(field, 'true or false', value);
}

function checkLayers(field: string, layers: unknown): void {
  checkTexts(field, layers, { form: LAYER, expected: LAYER_EXPECTED });
  const { length } = layers as readonly string[];
  if (length > MOST_LAYERS) throw new SettingError(field, `at most ${MOST_LAYERS}`, length);
}
