import { ArnFormat, Stack } from 'aws-cdk-lib';
import { type IRole, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { ISecret } from 'aws-cdk-lib/aws-secretsmanager';
import type { Construct } from 'constructs';
import { allowKey } from './stage-key.ts';

/** How a function logs in to the database: with the password in a secret, or as a user that IAM authenticates. */
export type DatabaseLogin = PasswordLogin | IamLogin;

export interface PasswordLogin {
  readonly secret: ISecret;
}

export interface IamLogin {
  readonly user: string;
  /** What a policy names to allow the login. */
  readonly arn: string;
}

/** Returns the login of a user of the cluster or instance with this resource id, such as `cluster-ABCDEFGHIJKL`. */
export function iamLogin(scope: Construct, user: string, resourceId: string): IamLogin {
  const resourceName = `${resourceId}/${user}`;
  const parts = { service: 'rds-db', resource: 'dbuser', resourceName, arnFormat: ArnFormat.COLON_RESOURCE_NAME };
  return { user, arn: Stack.of(scope).formatArn(parts) };
}

/** Allows a function to log in, with a secret that the key of the stage encrypts, if it has one. */
export function grantLogin(login: DatabaseLogin, role: IRole, key: IKey | undefined): void {
  if ('secret' in login) {
    login.secret.grantRead(role);
    allowKey(role, key, 'readSecrets');
    return;
  }
  role.addToPrincipalPolicy(new PolicyStatement({ actions: ['rds-db:connect'], resources: [login.arn] }));
}

/** Returns the variables of a function that logs in. */
export function loginVariables(login: DatabaseLogin): Record<string, string> {
  return 'secret' in login
    ? { MILLRACE_DATABASE_SECRET: login.secret.secretArn }
    : { MILLRACE_DATABASE_USER: login.user };
}

/** Returns the variables of the function that creates the login of the others. */
export function createdLoginVariables(login: DatabaseLogin): Record<string, string> {
  return 'secret' in login
    ? { MILLRACE_RUNTIME_SECRET: login.secret.secretArn }
    : { MILLRACE_RUNTIME_USER: login.user };
}
