import { type Context, optional, present, refuseIdle, required } from './context.ts';
import { check, checkCertificates, checkPort, checkSecrets, FORMS, type Form, formed } from './setting-values.ts';

/** How functions log in: with the password in a secret, or with tokens of IAM. */
export type LoginChoice = 'password' | 'iam';

interface GivenDatabase {
  readonly kind: 'existing';
  /** ARNs of secrets in the format of RDS: JSON with `username` and `password`. */
  readonly ownerSecret: string;
  readonly appSecret?: string;
  readonly port?: string;
  /** Path of a PEM file with its certificate authorities; by default those of RDS. */
  readonly ca?: string;
}

export interface PasswordDatabase extends GivenDatabase {
  readonly login?: 'password';
  readonly runtimeSecret: string;
  /** Host of the database, when the secrets do not contain it. */
  readonly host?: string;
  readonly name?: string;
}

export interface IamDatabase extends GivenDatabase {
  readonly login: 'iam';
  /** The login of the functions, which have no secret that could contain it. */
  readonly user: string;
  /** Resource id of the cluster or instance, such as `cluster-ABCDEFGHIJKL01234`. */
  readonly resourceId: string;
  readonly host: string;
  readonly name: string;
}

/** A Postgres that exists already. */
export type ExistingDatabase = PasswordDatabase | IamDatabase;

const IAM_SETTINGS = ['databaseUser', 'databaseResourceId'];
export const EXISTING_DATABASE_SETTINGS = [
  ...['databaseOwnerSecret', 'databaseRuntimeSecret', 'databaseAppSecret'],
  ...['databaseHost', 'databasePort', 'databaseName', 'databaseCa'],
  ...IAM_SETTINGS,
];

/** Reads the settings of `database=existing`. */
export function readExistingDatabase(context: Context, login: LoginChoice): ExistingDatabase {
  const must = (name: string, form: Form, because = 'database is existing') => {
    const expected = `${form.expected}, since ${because}`;
    return check(name, required(context, name, expected), { ...form, expected });
  };
  const [port, ca] = [optional(context, 'databasePort'), optional(context, 'databaseCa')];
  const shared = {
    kind: 'existing',
    ownerSecret: must('databaseOwnerSecret', FORMS.secret),
    ...present({
      appSecret: formed(context, 'databaseAppSecret', FORMS.secret),
      port: port === undefined ? undefined : checkPort('databasePort', port),
      ca: ca === undefined ? undefined : checkCertificates('databaseCa', ca),
    }),
  } as const;
  const secrets = { databaseOwnerSecret: shared.ownerSecret, databaseAppSecret: shared.appSecret };
  if (login === 'password') {
    refuseIdle(context, IAM_SETTINGS, 'no value, since databaseLogin is password and not iam');
    const runtimeSecret = must('databaseRuntimeSecret', FORMS.secret);
    checkSecrets({ ...secrets, databaseRuntimeSecret: runtimeSecret });
    const place = { host: formed(context, 'databaseHost', FORMS.host), name: optional(context, 'databaseName') };
    return { ...shared, runtimeSecret, ...present(place) };
  }
  refuseIdle(context, ['databaseRuntimeSecret'], 'no value, since databaseLogin is iam');
  checkSecrets(secrets);
  const because = 'databaseLogin is iam';
  return {
    ...{ ...shared, login, user: must('databaseUser', FORMS.user, because) },
    resourceId: must('databaseResourceId', FORMS.databaseResource, because),
    host: must('databaseHost', FORMS.host, because),
    name: must('databaseName', { pattern: /./, expected: 'the name of the database' }, because),
  };
}
