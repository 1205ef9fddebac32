import * as z from 'zod'

// By default zod compiles a parser for each schema, which costs more than it saves: a configuration is parsed once.
z.config({ jitless: true })
