/** The bytes of the file, as `loader: { '.wasm': 'binary' }` of the bundler gives them. */
declare module '*.wasm' {
  const bytes: Uint8Array<ArrayBuffer>;
  export default bytes;
}

// The part of the standard's interface that is used; the compiler has it only in its library of browser types.
declare namespace WebAssembly {
  type Imports = Record<string, Record<string, unknown>>;
  class Instance {
    constructor(module: Module, imports: Imports);
    readonly exports: Record<string, unknown>;
  }
  function compile(bytes: Uint8Array<ArrayBuffer>): Promise<Module>;
}
