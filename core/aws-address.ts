/** Where a service of AWS is, when not where the environment says. */
export interface AwsAddress {
  readonly endpoint: string;
  readonly region: string;
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string };
}
