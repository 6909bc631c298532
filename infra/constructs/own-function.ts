import { Token } from 'aws-cdk-lib';
import type { CfnFunction, Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { SettingError } from '../../core/errors.ts';
import type { Place } from './network.ts';

/** With a tag, or with a digest. */
const IMAGE = /^\d{12}\.dkr\.ecr\.[\w.-]+\/[\w./-]+(?::(?!latest$)[\w.-]+|@sha256:[0-9a-f]{64})$/;
const IMAGE_EXPECTED =
  'the URI of an image in ECR, such as 123456789012.dkr.ecr.eu-central-1.amazonaws.com/jobs:3f2c1a9, with the tag of ' +
  'one build: Lambda and CloudFormation do not notice that latest has changed';
/** Lambda's limits. */
const MOST = { subnets: 16, securityGroups: 5 };

/** Makes a function run a container image. @throws SettingError for a URI without the tag of one build */
export function runImage(lambda: LambdaFunction, uri: string): void {
  if (!Token.isUnresolved(uri) && !IMAGE.test(uri)) throw new SettingError('image', IMAGE_EXPECTED, uri);
  const resource = resourceOf(lambda);
  resource.packageType = 'Image';
  resource.code = { imageUri: uri };
  // The image states both.
  resource.runtime = undefined;
  resource.handler = undefined;
}

/**
 * Moves a function into these subnets, with these security groups.
 * @throws SettingError for none, and for more than Lambda allows
 */
export function runIn(lambda: LambdaFunction, place: Omit<Place, 'vpc'>): void {
  for (const [name, most] of Object.entries(MOST)) {
    const { length } = place[name as keyof typeof MOST];
    if (length < 1 || length > most) throw new SettingError(name, `1 to ${most} in the VPC of the handler`, length);
  }
  resourceOf(lambda).vpcConfig = {
    subnetIds: place.subnets.map(({ subnetId }) => subnetId),
    securityGroupIds: place.securityGroups.map(({ securityGroupId }) => securityGroupId),
  };
}

export function hasPlace(lambda: LambdaFunction): boolean {
  return resourceOf(lambda).vpcConfig !== undefined;
}

function resourceOf(lambda: LambdaFunction): CfnFunction {
  return lambda.node.defaultChild as CfnFunction;
}
