/** What a value becomes when JSON stores it: a Date is text, and members without a JSON value are missing. */
export type JsonOf<Value> = unknown extends Value
  ? unknown
  : Value extends { toJSON(): infer Text }
    ? JsonOf<Text>
    : Value extends string | number | boolean | null
      ? Value
      : Value extends readonly (infer Item)[]
        ? JsonOf<Item>[]
        : Value extends Error
          ? never
          : Value extends object
            ? {
                [Name in keyof Value as Value[Name] extends (...values: never[]) => unknown ? never : Name]: JsonOf<
                  Value[Name]
                >;
              }
            : null;
