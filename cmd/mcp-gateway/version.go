package main

import "github.com/spf13/cobra"

// versionFlag makes `mcp-gateway --version` the same as `mcp-gateway version`. cobra's own flag of that name would print to where help goes, standard error.
func (e *env) versionFlag(root *cobra.Command) {
	asked := root.Flags().Bool("version", false, "print the version")
	otherwise := root.RunE
	root.RunE = func(c *cobra.Command, args []string) error {
		if *asked {
			v := e.versionCommand()
			return v.RunE(v, nil)
		}
		return otherwise(c, args)
	}
}
