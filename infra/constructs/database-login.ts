import { ArnFormat, Stack } from 'aws-cdk-lib';
import { type IGrantable, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { ISecret } from 'aws-cdk-lib/aws-secretsmanager';
import type { Construct } from 'constructs';

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

/** Allows a function to log in. */
export function grantLogin(login: DatabaseLogin, grantee: IGrantable): void {
  if ('secret' in login) {
    login.secret.grantRead(grantee);
    return;
  }
  const statement = new PolicyStatement({ actions: ['rds-db:connect'], resources: [login.arn] });
  grantee.grantPrincipal.addToPrincipalPolicy(statement);
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
