/** JSON values as received. Keys such as `__proto__` are plain data in them. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }
export type JsonObject = { readonly [key: string]: Json }
