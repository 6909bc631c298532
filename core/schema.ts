/**
 * The part of Standard Schema (standardschema.dev, version 1) that a payload schema must offer. zod, valibot, arktype
 * and others implement it, so the engine depends on none of them.
 */
export interface PayloadSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
  };
}

export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

export interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

export type InferPayload<Schema extends PayloadSchema> = Schema extends PayloadSchema<infer Output> ? Output : never;
